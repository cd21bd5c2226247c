// Opens a file in the real Firefox Profiler and prints, as JSON, what the profiler shows of it.
//
//   node firefox.mjs FOLDER FILE     FOLDER has the node_modules of package.json
//
// The profiler comes as a command line with the code of the web page inside: a daemon that loads the file,
// and commands that ask it. Its own command to start the daemon gives it half a second, too little for a
// busy machine, so the daemon is started here.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [folder, file] = process.argv.slice(2).map((argument) => path.resolve(argument));
const cli = path.join(folder, 'node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js');
const sessions = fs.mkdtempSync(path.join(os.tmpdir(), 'bactrian-firefox-'));
const env = { ...process.env, PROFILER_CLI_SESSION_DIR: sessions };
const session = ['--session', 'check'];
const patience = 60_000;
const attempts = 3;

function ask(...words) {
  const command = [cli, ...words, ...session, '--json'];
  const done = spawnSync(process.execPath, command, { env, encoding: 'utf8', timeout: patience });
  if (done.status !== 0) throw new Error(`${words.join(' ')}: ${done.stderr || done.stdout}`);
  return JSON.parse(done.stdout);
}

function start() {
  return spawn(process.execPath, [cli, '--daemon', file, ...session], { env, stdio: 'ignore' });
}

function end({ exitCode, signalCode }) {
  return exitCode ?? signalCode;
}

function log() {
  const file = path.join(sessions, 'check.log');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 'it has no log\n';
}

// What the profiler knows of the file, once it is loaded. Its log says when: a client that asks while the daemon is
// writing down its session takes it for a dead one, and removes it.
async function loaded(daemon) {
  const giveUp = Date.now() + patience;
  while (!/Profile loaded|Failed to load/.test(log()) && end(daemon) === null && Date.now() < giveUp) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return ask('profile', 'info', '--all');
}

function thread({ name, threadHandle }) {
  const words = ['--thread', threadHandle, '--include-idle', '--strategy', 'timing'];
  const tree = ask('thread', 'samples-top-down', ...words);
  return { name, unit: tree.weightType, total: tree.regularCallTree.totalSamples };
}

function counter({ category, unit, rangeSampleCount, stats }) {
  return { category, unit, points: rangeSampleCount, range: stats[0].value };
}

let daemon = start();
try {
  let profile;
  for (let attempt = 1; !profile; attempt++) {
    try {
      profile = await loaded(daemon);
    } catch (error) {
      // Where it is ended on a busy machine before it has read anything, that says nothing about the file.
      error.message += `\nthe daemon (end: ${end(daemon)}) said:\n${log()}`;
      if (end(daemon) === null || attempt === attempts) throw error;
      daemon = start();
    }
  }
  const threads = profile.processes.flatMap((process) => process.threads).map(thread);
  const counters = ask('counter', 'list').counters.map(counter);
  console.log(JSON.stringify({ name: profile.name, threads, counters }));
} catch (error) {
  console.error(`Firefox Profiler: ${error.message}`);
  process.exitCode = 1;
} finally {
  daemon.kill();
  fs.rmSync(sessions, { recursive: true, force: true });
}
