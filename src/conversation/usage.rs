//! Token counts as providers report them, token prices, and the resulting costs.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// A larger count is wrong: no provider serves that much in one request.
const MOST: u64 = 1 << 40;

/// Estimated tokens of a text: four bytes each.
pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

/// Tokens of one request. `input` excludes what was read from
/// or written to the provider's cache, so the whole prompt is `input + cache_read + cache_write`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Usage {
    /// The complete prompt, cached or not.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Replaces implausible counts, so that they spoil neither sums nor limits.
    pub fn sane(mut self) -> Self {
        let fields = [
            &mut self.input,
            &mut self.output,
            &mut self.cache_read,
            &mut self.cache_write,
        ];
        for count in fields {
            if *count > MOST {
                *count = 0;
            }
        }
        self
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// How full the model's context window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextUse {
    /// Tokens of the conversation: the provider's last count, and an estimate of what was added
    /// since.
    pub used: u64,
    /// The most that the model can read.
    pub window: u64,
}

/// Token prices of a model: US dollars per million.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    pub input: f64,
    pub output: f64,
    /// Default: as `input`.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Default: as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// What a model costs. A long prompt may have its own rates, which then apply to the entire
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub base: Rates,
    /// Rates of requests whose prompt has more than this many tokens.
    pub above: Option<(u64, Rates)>,
}

impl Rates {
    /// Whether every rate is a valid price.
    pub fn valid(&self) -> bool {
        let further = [self.cache_read, self.cache_write];
        [self.input, self.output]
            .into_iter()
            .chain(further.into_iter().flatten())
            .all(|rate| rate.is_finite() && rate >= 0.0)
    }
}

impl Price {
    /// What one request costs.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let rates = match self.above {
            Some((tokens, rates)) if usage.prompt() > tokens => rates,
            _ => self.base,
        };
        let of = |count: u64, rate: f64| count as f64 * rate / 1_000_000.0;
        of(usage.input, rates.input)
            + of(usage.output, rates.output)
            + of(usage.cache_read, rates.cache_read.unwrap_or(rates.input))
            + of(usage.cache_write, rates.cache_write.unwrap_or(rates.input))
    }
}

/// Tokens of a turn or session added up, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars; absent unless the price of every request is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// An answer was stopped for `limits.cost`, and its tokens are estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The cost of requests with a known price.
    #[serde(skip)]
    known: f64,
    #[serde(skip)]
    unpriced: bool,
}

impl Spent {
    /// Adds one request; `cost` is `None` if its price or its tokens are unknown.
    pub fn add(&mut self, usage: Usage, cost: Option<f64>) {
        let mut sum = self.usage();
        sum += usage;
        self.input = sum.input;
        self.output = sum.output;
        self.cache_read = sum.cache_read;
        self.cache_write = sum.cache_write;
        match cost.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            Some(cost) => self.known += cost,
            None => self.unpriced = true,
        }
        self.cost = (!self.unpriced && sum.total() > 0).then_some(self.known);
    }

    /// Adds another sum.
    pub fn join(&mut self, other: &Self) {
        let unpriced = self.unpriced || other.unpriced;
        self.add(other.usage(), Some(other.known));
        self.estimated |= other.estimated;
        self.unpriced = unpriced;
        self.cost = self.cost.filter(|_| !unpriced);
    }

    pub fn usage(&self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        }
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.usage().total()
    }

    /// The cost as far as prices are known.
    pub fn known(&self) -> f64 {
        self.known
    }
}

/// How a running total is stored: with the fields that clients do not see.
pub mod stored {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Spent;

    pub fn serialize<S: Serializer>(sum: &Spent, to: S) -> Result<S::Ok, S::Error> {
        (sum, sum.known, sum.unpriced).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Spent, D::Error> {
        let (sum, known, unpriced) = <(Spent, f64, bool)>::deserialize(from)?;
        Ok(Spent {
            known,
            unpriced,
            ..sum
        })
    }
}
