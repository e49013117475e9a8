//! `write_todos`: replaces the session's plan and shows it to the user. It changes no file, so it
//! needs no approval and works in every mode.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use crate::conversation::plan::{self, Todo, TodoStatus};
use crate::conversation::{Event, Tier};

/// Most items of a plan.
const ITEMS: usize = 50;
/// Longest text of an item, in characters.
const LONGEST: usize = 300;

pub struct WriteTodos;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The whole list in order, at most 50 items; an empty list removes the plan
    todos: Vec<Item>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Item {
    /// One step, at most 300 characters
    text: String,
    #[cfg_attr(test, schemars(extend("description" = Value::Null)))]
    status: TodoStatus,
}

#[async_trait]
impl BuiltIn for WriteTodos {
    const NAME: &'static str = plan::TOOL;
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware);
    type Arguments = Arguments;

    /// A shared target, so that several calls in one message replace the plan in order.
    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::writes(["interline:plan".to_owned()])
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let todos: Vec<Todo> = arguments
            .todos
            .into_iter()
            .map(|item| Todo {
                text: item.text,
                status: item.status,
            })
            .collect();
        check(cx, &todos)?;
        let done = plan::count(&todos, TodoStatus::Completed);
        let title = match todos.len() {
            0 => "Remove the plan".to_owned(),
            total => format!("Plan ({done} of {total} done)"),
        };
        Ok(Prepared::new(title, |cx| {
            async move { Ok(ToolOutput::text(replace(cx, todos))) }.boxed()
        }))
    }
}

fn check(cx: &ToolContext, todos: &[Todo]) -> Result<(), ToolError> {
    if todos.len() > ITEMS {
        return Err(cx.error(
            "results/todos-count.md",
            &[("count", &todos.len()), ("most", &ITEMS)],
        ));
    }
    for (index, todo) in todos.iter().enumerate() {
        let length = todo.text.trim().chars().count();
        if !(1..=LONGEST).contains(&length) {
            return Err(cx.error(
                "results/todos-text.md",
                &[
                    ("number", &(index + 1)),
                    ("length", &length),
                    ("longest", &LONGEST),
                ],
            ));
        }
    }
    let active: Vec<String> = todos
        .iter()
        .enumerate()
        .filter(|(_, todo)| todo.status == TodoStatus::InProgress)
        .map(|(index, _)| (index + 1).to_string())
        .collect();
    if active.len() > 1 {
        return Err(cx.error(
            "results/todos-active.md",
            &[("numbers", &active.join(", "))],
        ));
    }
    Ok(())
}

fn replace(cx: &ToolContext, todos: Vec<Todo>) -> String {
    let count = |status| plan::count(&todos, status);
    let text = match todos.len() {
        0 => cx.text("results/todos-none.md", &[]),
        total => cx.text(
            "results/todos.md",
            &[
                ("total", &total),
                ("completed", &count(TodoStatus::Completed)),
                ("active", &count(TodoStatus::InProgress)),
                ("pending", &count(TodoStatus::Pending)),
                ("cancelled", &count(TodoStatus::Cancelled)),
            ],
        ),
    };
    cx.sink.emit(Event::Plan {
        item_id: cx.item.clone(),
        todos,
    });
    text
}
