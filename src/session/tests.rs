//! Complete sessions on a real folder, with a model on loopback that stores every byte it was sent.

mod compactions;
mod flood;
mod growth;
mod hostile;
mod model;
mod prefix;
mod reasoning;
mod stage;
