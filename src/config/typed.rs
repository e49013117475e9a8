//! Reads JSON values as types, with the place of an error. Like `serde_path_to_error` around
//! serde_json's own deserializer, but one deserializer instead of two for every type.

use std::cell::RefCell;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_json::map::{IntoIter, Map};
use serde_json::{Error, Value};

/// Why a value is not of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// As in `input[0].text`; empty: the value itself.
    pub place: String,
    pub problem: String,
}

impl Wrong {
    /// The problem after its place in backticks.
    pub fn quoted(self) -> String {
        match self.place.as_str() {
            "" => self.problem,
            place => format!("`{place}`: {}", self.problem),
        }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.problem),
            place => write!(f, "{place}: {}", self.problem),
        }
    }
}

/// The value as a `T`.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Wrong> {
    let track = Track::default();
    let tracked = Tracked {
        value,
        track: &track,
    };
    T::deserialize(tracked).map_err(|error| track.wrong(&error))
}

/// The way to an error, collected while it is returned: the innermost step first.
#[derive(Default)]
struct Track(RefCell<Vec<String>>);

impl Track {
    fn add(&self, error: Error, step: impl FnOnce() -> String) -> Error {
        self.0.borrow_mut().push(step());
        error
    }

    fn wrong(&self, error: &Error) -> Wrong {
        let steps = self.0.borrow();
        let place: String = steps.iter().rev().map(String::as_str).collect();
        Wrong {
            place: place.trim_start_matches('.').to_owned(),
            problem: error.to_string(),
        }
    }
}

struct Tracked<'t> {
    value: Value,
    track: &'t Track,
}

impl<'de> Deserializer<'de> for Tracked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => visit_items(items, self.track, visitor),
            Value::Object(fields) => visit_fields(fields, self.track, visitor),
            single => single.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(fields) => {
                let mut fields = fields.into_iter();
                match (fields.next(), fields.next()) {
                    (Some((variant, content)), None) => visitor.visit_enum(Variant {
                        variant,
                        content,
                        track: self.track,
                    }),
                    _ => Err(Error::invalid_value(
                        Unexpected::Map,
                        &"map with a single key",
                    )),
                }
            }
            single => single.deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    // What can only be of one kind is read as that kind: the readers of the others would be
    // compiled for each of these types too.

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(fields) => visit_fields(fields, self.track, visitor),
            Value::Array(items) => visit_items(items, self.track, visitor),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(fields) => visit_fields(fields, self.track, visitor),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => visit_items(items, self.track, visitor),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_bool(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_string(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_u64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_f64(visitor)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct tuple_struct
    }
}

/// The error for a value of another kind.
fn mismatch(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(bool) => Unexpected::Bool(*bool),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

fn visit_items<'de, V: Visitor<'de>>(
    items: Vec<Value>,
    track: &Track,
    visitor: V,
) -> Result<V::Value, Error> {
    let length = items.len();
    let mut items = Items {
        rest: items.into_iter(),
        next: 0,
        track,
    };
    let read = visitor.visit_seq(&mut items)?;
    match items.rest.len() {
        0 => Ok(read),
        _ => Err(Error::invalid_length(length, &"fewer elements in array")),
    }
}

fn visit_fields<'de, V: Visitor<'de>>(
    fields: Map<String, Value>,
    track: &Track,
    visitor: V,
) -> Result<V::Value, Error> {
    let length = fields.len();
    let mut fields = Fields {
        rest: fields.into_iter(),
        value: None,
        key: String::new(),
        track,
    };
    let read = visitor.visit_map(&mut fields)?;
    match fields.rest.len() {
        0 => Ok(read),
        _ => Err(Error::invalid_length(length, &"fewer elements in map")),
    }
}

struct Items<'t> {
    rest: std::vec::IntoIter<Value>,
    next: usize,
    track: &'t Track,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.rest.next() else {
            return Ok(None);
        };
        let (at, track) = (self.next, self.track);
        self.next += 1;
        let read = seed.deserialize(Tracked { value, track });
        read.map(Some)
            .map_err(|error| track.add(error, || format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Fields<'t> {
    rest: IntoIter,
    value: Option<Value>,
    key: String,
    track: &'t Track,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        self.key.clone_from(&key);
        let read = seed.deserialize(StringDeserializer::new(key));
        read.map(Some)
            .map_err(|error| self.track.add(error, || format!(".{}", self.key)))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (value, track) = (self.value.take().unwrap_or_default(), self.track);
        let read = seed.deserialize(Tracked { value, track });
        read.map_err(|error| track.add(error, || format!(".{}", self.key)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant with content: `{"name": content}`.
struct Variant<'t> {
    variant: String,
    content: Value,
    track: &'t Track,
}

impl<'t> Variant<'t> {
    fn read<T>(self, read: impl FnOnce(Tracked<'t>) -> Result<T, Error>) -> Result<T, Error> {
        let (value, track) = (self.content, self.track);
        read(Tracked { value, track })
            .map_err(|error| track.add(error, || format!(".{}", self.variant)))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = StringDeserializer::<Error>::new(self.variant.clone());
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.read(de::Deserialize::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        self.read(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.read(|content| match content.value {
            Value::Array(_) => content.deserialize_any(visitor),
            _ => Err(Error::custom("expected the list of a tuple variant")),
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read(|content| match content.value {
            Value::Object(_) => content.deserialize_any(visitor),
            _ => Err(Error::custom("expected the fields of a struct variant")),
        })
    }
}

#[cfg(test)]
mod tests;
