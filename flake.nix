# `nix run`, `nix build`, `nix develop`: the tool built from this folder. The page is here as it was built, so that no node
# is needed; crates come from the lock file.
{
  description = "Shows what an OCaml program keeps in memory";

  inputs.nixpkgs.url = "nixpkgs";

  outputs =
    { self, nixpkgs }:
    let
      system = "x86_64-linux";
      pkgs = nixpkgs.legacyPackages.${system};
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
    in
    {
      packages.${system}.default = pkgs.rustPlatform.buildRustPackage {
        pname = "bactrian";
        version = manifest.workspace.package.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        cargoBuildFlags = [ "--package=bactrian" ];
        # Tests observe programs of several OCaml versions: cargo xtask test.
        doCheck = false;
        nativeBuildInputs = [ pkgs.installShellFiles ];
        postInstall = ''
          $out/bin/bactrian man man1
          installManPage man1/*
          for shell in bash fish zsh; do
            $out/bin/bactrian completions $shell > bactrian.$shell
          done
          installShellCompletion bactrian.bash bactrian.fish --zsh bactrian.zsh
        '';
        meta = {
          description = "Shows what an OCaml program keeps in memory";
          license = [
            pkgs.lib.licenses.mit
            pkgs.lib.licenses.asl20
          ];
          mainProgram = "bactrian";
          platforms = [ system ];
        };
      };

      devShells.${system}.default = pkgs.mkShell {
        inputsFrom = [ self.packages.${system}.default ];
        packages = [
          pkgs.clippy
          pkgs.rustfmt
          pkgs.ocaml
          pkgs.nodejs
        ];
      };
    };
}
