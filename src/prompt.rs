//! The layered prompt: segments with id, source, trust and reason, laid out by data and assembled
//! purely (INV-5: same inputs, same bytes). Reads nothing but the [`Facts`] it is given and the
//! texts of `prompts/`. Its files import downwards only: epoch, assemble, load, builders, layout,
//! sources, fence, texts, facts, types.

pub mod assemble;
pub mod builders;
pub mod epoch;
pub mod facts;
pub mod fence;
pub mod layout;
mod load;
pub mod sources;
pub mod texts;
pub mod types;

pub use assemble::assemble;
pub use facts::Facts;
pub use layout::Layout;
pub use texts::Texts;
pub use types::{Assembled, SegmentRow, TailPart, Trust};
