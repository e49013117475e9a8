//! Command lines as the shell's grammar reads them: the simple commands of a line, with the words
//! that are certain before the shell runs. Everything else is `None`: expansions, substitutions,
//! compound commands, here-documents, background commands, and what bash and POSIX shells read
//! differently. The parsing crate is used in this file only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast;

use super::limits;

/// A word whose value is certain, apart from file names that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// Has an unquoted `*` or `?`.
    pub pattern: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirection {
    /// `< file`
    Read(Word),
    /// `> file` and the like
    Write(Word),
    /// `2>&1`
    Duplicate,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Names and values of the variables before the program.
    pub assignments: Vec<(String, Word)>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    pub redirections: Vec<Redirection>,
}

/// Texts that bash and POSIX shells read differently, or that hide what is executed.
const AMBIGUOUS: [&str; 6] = ["|&", "&>", "<<", "$'", "$\"", "\\\n"];

/// The simple commands of a line, or `None` if a part of it is not certain.
pub fn simple_commands(line: &str) -> Option<Vec<Simple>> {
    let blank = |c: char| c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n');
    if AMBIGUOUS.iter().any(|text| line.contains(text))
        || line.contains(blank)
        || limits::openings(line) > limits::PARSED_OPENINGS
        || long_descriptor(line)
    {
        return None;
    }
    // The parser's code may panic on a line that it does not expect.
    let program = catch_unwind(AssertUnwindSafe(|| parse(line))).ok()??;
    let mut found = Vec::new();
    for list in &program.complete_commands {
        compound_list(list, &mut found)?;
    }
    Some(found)
}

/// The parser panics on the number of a descriptor that no integer holds.
fn long_descriptor(line: &str) -> bool {
    let digits = |before: &str| before.len() - before.trim_end_matches(char::is_numeric).len();
    let numbers = line.match_indices(['<', '>']);
    numbers.into_iter().any(|(at, _)| digits(&line[..at]) > 8)
}

fn parse(line: &str) -> Option<ast::Program> {
    let options = brush_parser::ParserOptions {
        enable_extended_globbing: false,
        posix_mode: true,
        sh_mode: true,
        tilde_expansion: true,
    };
    let source = brush_parser::SourceInfo::default();
    let mut parser = brush_parser::Parser::new(line.as_bytes(), &options, &source);
    parser.parse_program().ok()
}

fn compound_list(list: &ast::CompoundList, found: &mut Vec<Simple>) -> Option<()> {
    for ast::CompoundListItem(and_or, separator) in &list.0 {
        if matches!(separator, ast::SeparatorOperator::Async) {
            return None;
        }
        pipeline(&and_or.first, found)?;
        for more in &and_or.additional {
            match more {
                ast::AndOr::And(next) | ast::AndOr::Or(next) => pipeline(next, found)?,
            }
        }
    }
    Some(())
}

fn pipeline(pipeline: &ast::Pipeline, found: &mut Vec<Simple>) -> Option<()> {
    // A `!` alone: a syntax error in POSIX shells.
    if pipeline.timed.is_some() || pipeline.seq.is_empty() {
        return None;
    }
    for command in &pipeline.seq {
        match command {
            ast::Command::Simple(command) => found.push(simple(command)?),
            ast::Command::Compound(ast::CompoundCommand::Subshell(shell), None) => {
                compound_list(&shell.list, found)?;
            }
            ast::Command::Compound(ast::CompoundCommand::BraceGroup(group), None) => {
                compound_list(&group.list, found)?;
            }
            _ => return None,
        }
    }
    Some(())
}

fn simple(command: &ast::SimpleCommand) -> Option<Simple> {
    use ast::CommandPrefixOrSuffixItem as Item;
    let mut simple = Simple::default();
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    for item in prefix {
        match item {
            Item::IoRedirect(io) => simple.redirections.push(redirection(io)?),
            Item::AssignmentWord(assignment, _) => simple.assignments.push(variable(assignment)?),
            Item::Word(_) | Item::ProcessSubstitution(..) => return None,
        }
    }
    if let Some(name) = &command.word_or_name {
        simple.words.push(word(name)?);
    }
    let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
    for item in suffix {
        match item {
            Item::IoRedirect(io) => simple.redirections.push(redirection(io)?),
            Item::Word(text) | Item::AssignmentWord(_, text) => simple.words.push(word(text)?),
            Item::ProcessSubstitution(..) => return None,
        }
    }
    Some(simple)
}

fn variable(assignment: &ast::Assignment) -> Option<(String, Word)> {
    match (&assignment.name, &assignment.value) {
        (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(value))
            if !assignment.append =>
        {
            Some((name.clone(), word(value)?))
        }
        _ => None,
    }
}

fn redirection(io: &ast::IoRedirect) -> Option<Redirection> {
    use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};
    let ast::IoRedirect::File(_, kind, target) = io else {
        return None;
    };
    match (kind, target) {
        (Kind::Read, Target::Filename(name)) => Some(Redirection::Read(word(name)?)),
        (Kind::Write | Kind::Append | Kind::Clobber, Target::Filename(name)) => {
            Some(Redirection::Write(word(name)?))
        }
        (Kind::DuplicateOutput, Target::Fd(_)) => Some(Redirection::Duplicate),
        (Kind::DuplicateOutput, Target::Duplicate(name)) => {
            let digits = !name.value.is_empty() && name.value.bytes().all(|b| b.is_ascii_digit());
            digits.then_some(Redirection::Duplicate)
        }
        _ => None,
    }
}

/// The value of a word as every POSIX shell reads it.
fn word(raw: &ast::Word) -> Option<Word> {
    literal(&raw.value)
}

fn literal(raw: &str) -> Option<Word> {
    let mut text = String::new();
    let mut pattern = false;
    let mut chars = raw.chars();
    let mut previous = None;
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    inner => text.push(inner),
                }
            },
            '"' => double_quoted(&mut chars, &mut text)?,
            '\\' => text.push(chars.next()?),
            '~' if matches!(previous, None | Some('=' | ':')) => return None,
            '[' if raw == "[" => text.push(c),
            '$' | '`' | '{' | '}' | '[' | '(' | ')' | '\n' => return None,
            _ => {
                pattern |= matches!(c, '*' | '?');
                text.push(c);
            }
        }
        previous = Some(c);
    }
    Some(Word { text, pattern })
}

fn double_quoted(chars: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match chars.next()? {
                escaped @ ('$' | '`' | '"' | '\\') => text.push(escaped),
                other => text.extend(['\\', other]),
            },
            inner => text.push(inner),
        }
    }
}
