//! A server's questions to the user: one for each field of a form, or one about an address to open
//! in a browser. The text is the server's and is shown as such; an answer is never an approval.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};
use url::Url;

use crate::host::{QuestionAnswer, QuestionOutcome, QuestionRequest};
use crate::prompt::fence;
use crate::tools::ToolContext;

#[cfg(test)]
mod tests;

/// Most fields of one form.
const FIELDS: usize = 24;
/// Most answers to choose from.
const OPTIONS: usize = 20;
/// Longest text of a server, in characters.
const WORDS: usize = 2_000;
/// How often to ask for a field whose answers are invalid.
const TRIES: usize = 3;

const LEAVE_OUT: &str = "(leave out)";
const DONE: &str = "Done";
const AGREE: &str = "Agree";

/// Asks the user. A client that cannot ask declines.
pub async fn ask(cx: &ToolContext, server: &str, request: &ElicitRequestParams) -> ElicitResult {
    let outcome = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            let order = requested_schema.property_order.clone();
            ask_form(cx, server, message, &schema, order).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            ask_to_open(cx, server, message, url).await
        }
        _ => Err(ElicitationAction::Decline),
    };
    match outcome {
        Ok(content) => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            match content {
                Some(content) => accepted.with_content(Value::Object(content)),
                None => accepted,
            }
        }
        Err(action) => ElicitResult::new(action),
    }
}

type Outcome = Result<Option<Map<String, Value>>, ElicitationAction>;

async fn ask_form(
    cx: &ToolContext,
    server: &str,
    message: &str,
    schema: &Value,
    order: Option<Vec<String>>,
) -> Outcome {
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    if fields.len() > FIELDS {
        return Err(ElicitationAction::Decline);
    }
    let begin = format!(
        "The MCP server {} asks: {}",
        fence::name(server),
        bounded(message)
    );
    if fields.is_empty() {
        let answer = ask_question(cx, begin, vec![AGREE.to_owned()], false).await?;
        return match answer == AGREE {
            true => Ok(Some(Map::new())),
            false => Err(ElicitationAction::Decline),
        };
    }
    let order = order.unwrap_or_else(|| fields.keys().cloned().collect());
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|it| it == name))
    };
    let mut content = Map::new();
    for name in &order {
        let Some(field) = fields.get(name) else {
            continue;
        };
        if let Some(value) = ask_field(cx, &begin, name, field, required(name)).await? {
            content.insert(name.clone(), value);
        }
    }
    Ok(Some(content))
}

/// Asks for one field; `None`: left out.
async fn ask_field(
    cx: &ToolContext,
    begin: &str,
    name: &str,
    field: &Value,
    required: bool,
) -> Result<Option<Value>, ElicitationAction> {
    let choices = choices(field);
    let mut options: Vec<String> = choices.iter().map(|(shown, _)| shown.clone()).collect();
    if !required {
        options.push(LEAVE_OUT.to_owned());
    }
    let text = |key: &str| field[key].as_str().map(bounded).unwrap_or_default();
    let title = match text("title") {
        title if title.is_empty() => fence::name(name),
        title => title,
    };
    let mut question = format!("{begin}\n\n{title}");
    let about = text("description");
    if !about.is_empty() {
        question.push_str(&format!(": {about}"));
    }
    let several = multiple_choices(field);
    if !several.is_empty() {
        question.push_str(&format!(
            "\nOne or more of these, separated by commas: {}",
            several.join(", ")
        ));
    }
    if let (true, Some(usual)) = (choices.is_empty(), default_value(field)) {
        options.insert(0, usual);
    }
    let mut again = "";
    for _ in 0..TRIES {
        let free = choices.is_empty();
        let answer = ask_question(cx, format!("{again}{question}"), options.clone(), free).await?;
        if !required && answer == LEAVE_OUT {
            return Ok(None);
        }
        let chosen = choices.iter().find(|(shown, _)| *shown == answer);
        let value = match (chosen, free) {
            (Some((_, value)), _) => Some(value.clone()),
            (None, true) => parse_answer(field, &answer),
            (None, false) => None,
        };
        if value.is_some() {
            return Ok(value);
        }
        again = "That is not a valid answer. ";
    }
    Err(ElicitationAction::Cancel)
}

/// The choices: as shown, and as the server gets them.
fn choices(field: &Value) -> Vec<(String, Value)> {
    if field["type"] == "boolean" {
        return vec![
            ("yes".to_owned(), Value::Bool(true)),
            ("no".to_owned(), Value::Bool(false)),
        ];
    }
    let named = field["oneOf"].as_array().or(field["anyOf"].as_array());
    let named = named.into_iter().flatten().filter_map(|it| {
        let value = it["const"].as_str()?;
        Some((it["title"].as_str().unwrap_or(value), value))
    });
    let names = &field["enumNames"];
    let plain = field["enum"].as_array().into_iter().flatten();
    let plain = plain.enumerate().filter_map(|(index, value)| {
        let value = value.as_str()?;
        Some((names[index].as_str().unwrap_or(value), value))
    });
    let all = named.chain(plain).take(OPTIONS);
    all.map(|(shown, value)| (fence::name(shown), Value::from(value)))
        .collect()
}

/// The choices of a field that takes several.
fn multiple_choices(field: &Value) -> Vec<String> {
    let all = choices(&field["items"]).into_iter();
    all.filter_map(|(_, value)| value.as_str().map(fence::name))
        .collect()
}

/// The value that the server proposes.
fn default_value(field: &Value) -> Option<String> {
    match &field["default"] {
        Value::String(text) if !text.is_empty() => Some(fence::name(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The user's answer in the field's type, if it is valid.
fn parse_answer(field: &Value, answer: &str) -> Option<Value> {
    let answer = answer.trim();
    let number = |value: f64| {
        let least = field["minimum"].as_f64().is_none_or(|least| value >= least);
        let most = field["maximum"].as_f64().is_none_or(|most| value <= most);
        least && most
    };
    match field["type"].as_str() {
        Some("integer") => {
            let value: i64 = answer.parse().ok()?;
            #[expect(clippy::cast_precision_loss, reason = "compared with a bound only")]
            let fits = number(value as f64);
            fits.then(|| Value::from(value))
        }
        Some("number") => {
            let value: f64 = answer.parse().ok()?;
            (value.is_finite() && number(value)).then(|| Value::from(value))
        }
        Some("array") => {
            let parts = answer.split(',').map(str::trim);
            Some(
                parts
                    .filter(|part| !part.is_empty())
                    .map(Value::from)
                    .collect(),
            )
        }
        _ => {
            let length = answer.chars().count() as u64;
            let least = field["minLength"]
                .as_u64()
                .is_none_or(|least| length >= least);
            let most = field["maxLength"]
                .as_u64()
                .is_none_or(|most| length <= most);
            (least && most).then(|| Value::from(answer))
        }
    }
}

async fn ask_to_open(cx: &ToolContext, server: &str, message: &str, url: &str) -> Outcome {
    let parsed = Url::parse(url).ok();
    let web = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = web.filter(|url| url.username().is_empty() && url.password().is_none()) else {
        return Err(ElicitationAction::Decline);
    };
    let question = format!(
        "The MCP server {} asks you to open an address in your browser: {}\n\n{}\n\nWhat you \
         enter there goes to {}. Interline does not open it.",
        fence::name(server),
        bounded(message),
        bounded(url.as_str()),
        crate::http::origin(&url),
    );
    let answer = ask_question(cx, question, vec![DONE.to_owned()], false).await?;
    match answer == DONE {
        true => Ok(None),
        false => Err(ElicitationAction::Decline),
    }
}

/// Asks one question and returns the answer's text.
async fn ask_question(
    cx: &ToolContext,
    question: String,
    mut options: Vec<String>,
    free_text: bool,
) -> Result<String, ElicitationAction> {
    const NO: &str = "Decline";
    if !free_text {
        options.push(NO.to_owned());
    }
    let request = QuestionRequest {
        session_id: cx.session.clone(),
        turn_id: cx.turn.clone(),
        item_id: cx.item.clone(),
        question,
        options,
        free_text,
    };
    let answer = tokio::select! {
        answer = cx.host.ask(request) => answer,
        () = cx.cancel.cancelled() => return Err(ElicitationAction::Cancel),
        () = tokio::time::sleep(cx.config.limits.approval()) => {
            return Err(ElicitationAction::Cancel);
        }
    };
    match answer {
        Some(QuestionAnswer {
            outcome: QuestionOutcome::Answered,
            answer: Some(words),
        }) if words != NO => Ok(words),
        Some(QuestionAnswer {
            outcome: QuestionOutcome::Cancelled,
            ..
        }) => Err(ElicitationAction::Cancel),
        _ => Err(ElicitationAction::Decline),
    }
}

fn bounded(text: &str) -> String {
    let visible = fence::visible(text.trim());
    match visible.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{} […]", &visible[..end]),
        None => visible,
    }
}
