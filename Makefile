# The two commands a newcomer needs. The work is done in scripts/setup and xtask/.

.PHONY: help demo test

help:
	@echo 'make demo   show Bactrian at work'
	@echo 'make test   run every check: format, lints, tidy, tests, exports in other tools, a short fuzz run'
	@echo 'Both install what is missing first (see scripts/setup). For more: cargo xtask'

demo:
	@scripts/setup
	@cargo xtask demo

test:
	@scripts/setup
	@cargo xtask test
