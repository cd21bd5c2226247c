# The two commands a newcomer needs. The work is done in scripts/setup and xtask/.

.PHONY: help demo test query

help:
	@echo 'make demo   show Bactrian at work'
	@echo 'make test   run every check: format, lints, tidy, tests, the page in a browser, exports in other tools'
	@echo 'make query  build the engine of bactrian query: half an hour, once'
	@echo 'All of them install what is missing first, and say what (see scripts/setup). For more: cargo xtask'

# What else the demo needs is installed while it is built.
demo:
	@scripts/setup build
	@echo 'Building what builds the demo:'
	@cargo xtask demo

test:
	@scripts/setup test
	@cargo xtask test

query:
	@scripts/setup build
	@cargo xtask query --build
