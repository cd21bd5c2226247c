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

function ask(...words) {
  const command = [cli, ...words, ...session, '--json'];
  const done = spawnSync(process.execPath, command, { env, encoding: 'utf8', timeout: patience });
  if (done.status !== 0) throw new Error(`${words.join(' ')}: ${done.stderr || done.stdout}`);
  return JSON.parse(done.stdout);
}

// What the profiler knows of the file, once it is loaded.
async function loaded(daemon) {
  const giveUp = Date.now() + patience;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    try {
      return ask('profile', 'info', '--all');
    } catch (error) {
      const refused = error.message.includes('Profile load failed');
      if (refused || daemon.exitCode !== null || Date.now() > giveUp) throw error;
    }
  }
}

function thread({ name, threadHandle }) {
  const words = ['--thread', threadHandle, '--include-idle', '--strategy', 'timing'];
  const tree = ask('thread', 'samples-top-down', ...words);
  return { name, unit: tree.weightType, total: tree.regularCallTree.totalSamples };
}

function counter({ category, unit, rangeSampleCount, stats }) {
  return { category, unit, points: rangeSampleCount, range: stats[0].value };
}

const daemon = spawn(process.execPath, [cli, '--daemon', file, ...session], { env, stdio: 'ignore' });
try {
  const { name, processes } = await loaded(daemon);
  const threads = processes.flatMap((process) => process.threads).map(thread);
  const counters = ask('counter', 'list').counters.map(counter);
  console.log(JSON.stringify({ name, threads, counters }));
} catch (error) {
  console.error(`Firefox Profiler: ${error.message}`);
  process.exitCode = 1;
} finally {
  daemon.kill();
  fs.rmSync(sessions, { recursive: true, force: true });
}
