use super::*;

fn written(request: &[u8]) -> Vec<u8> {
    let piped = Piped {
        program: OsStr::new("interline"),
        arguments: Vec::new(),
        env: BTreeMap::new(),
        request: request.to_vec(),
        _held: Placeholders::make(&[]),
        _temporary: tempfile::tempdir().unwrap(),
    };
    let mut pipe = Vec::new();
    piped.write(&mut pipe).unwrap();
    pipe
}

/// A byte too many would be missing in the process's input.
#[test]
fn the_input_after_the_request_is_left_in_the_pipe() {
    let mut pipe = written(b"{}");
    pipe.extend(b"input");
    let mut rest = pipe.as_slice();
    assert_eq!(read(&mut rest).unwrap(), b"{}");
    assert_eq!(rest, b"input");
}

#[test]
fn a_request_that_is_not_complete_is_an_error() {
    let pipe = written(b"{\"grade\": \"full\"}");
    for length in 0..pipe.len() {
        assert!(read(&mut &pipe[..length]).is_err(), "{length}");
    }
    let mut long = (LONGEST + 1).to_be_bytes().to_vec();
    long.extend(b"{}");
    assert!(read(&mut long.as_slice()).is_err());
}
