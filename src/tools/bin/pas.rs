//! Entry point of `pas`.

fn main() -> std::process::ExitCode {
    pas_tools::cli::main()
}
