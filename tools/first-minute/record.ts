/**
 * Records the first minute with Postern on a server: `postern up`, the invitation, the login. Writes two files from one
 * run: docs/first-minute.svg, an animation of the terminal and the pages, and docs/images/first-minute.png, a still.
 *   npm run picture
 *
 * The network is one of its own, with Pebble in place of Let's Encrypt. Its root is trusted there, by curl and by
 * Chromium. Needs Linux and Debian's packages asciinema, termtosvg, pebble, chromium, libnss3-tools and fonts-dejavu.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { startPebble } from '../../test/support/acme/pebble.ts';
import { animate } from './animation.ts';
import { photograph, writePicture } from './pages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ANIMATION = join(root, 'docs/first-minute.svg');
const PICTURE = join(root, 'docs/images/first-minute.png');
const HOST = 'app.example.com';
const IDENTITY_HOST = 'id.example.com';
/** Documentation's own network (RFC 5737): for the command, a public address of this machine. */
const ADDRESS = '203.0.113.10';
const SIZE = { columns: 104, rows: 36 };
/** Every frame takes space in the file. */
const TYPED_AT_ONCE = 6;
const LONGEST_PAUSE_S = 2;
const PAUSE_AT_END_MS = 4_000;
const DEADLINE_MS = 180_000;
/** What the first screen of the README may load. */
const LARGEST_PICTURE_BYTES = 150 * 1024;
const UP = `postern up ${HOST} --to 3000 --login --allow-email you@example.com --email you@example.com`;
const VISIT = `curl -sI https://${HOST}/ | head -n 1   # in a second terminal, without a login`;
const INVITE = 'postern users add you@example.com';
const APP = `<!doctype html><html lang="en"><title>Team wiki</title><style>
body { margin: 0; font: 17px/1.6 "DejaVu Sans", sans-serif; color: #1f2430 }
header { background: #2f6f5e; color: #fff; padding: 14px 40px; font-size: 21px; font-weight: bold }
main { padding: 12px 40px; max-width: 640px } li { margin: 4px 0 } a { color: #2f6f5e }
</style><header>Team wiki</header><main><h1>Welcome</h1>
<p>This page comes from a program on port 3000. It has no login of its own.</p>
<ul><li><a href="#">On call this week</a></li><li><a href="#">Deploy the shop</a></li><li><a href="#">Who has which key</a></li></ul></main></html>`;

/** The session. What is typed is what runs. */
const SESSION = `
postern() { '${process.execPath}' '${join(root, 'bin/postern.mjs')}' "$@"; }
show() {
  printf '\\033[32m$\\033[0m '
  for ((at = 0; at < \${#1}; at += ${TYPED_AT_ONCE})); do printf '%s' "\${1:at:${TYPED_AT_ONCE}}"; sleep 0.15; done
  printf '\\n'
}
show '${UP}'
${UP} < /dev/tty &
until [ -e published ]; do sleep 0.2; done
sleep 3
printf '\\n'
show '${VISIT}'
${VISIT}
sleep 2
printf '\\n'
show '${INVITE}'
${INVITE}
until [ -e photographed ]; do sleep 0.2; done
kill %1
wait
`;

/** Runs again in a network of its own, on a machine without systemd, where the server runs in the terminal. */
const PREPARE = `mount -t tmpfs tmpfs /run
ip link set lo up
ip addr add ${ADDRESS}/32 dev lo
mount --bind hosts /etc/hosts
exec "$0" "$@"`;

/** The tokens are those of a server that is gone, and nobody should have to wonder. */
function withoutTokens(text: string): string {
  return text.replaceAll(/(postern_[a-z]+_)[\w-]{20,}(\.[0-9a-f]+)?/g, '$1…');
}

/** What the terminal shows, without colors. */
function screenText(cast: string): string {
  const [, ...events] = readFileSync(cast, 'utf8').trim().split('\n');
  const output = events.map((line) => (JSON.parse(line) as [number, string, string])[2]).join('');
  return stripVTControlCharacters(output).replaceAll('\r', '');
}

async function untilShown(cast: string, pattern: RegExp): Promise<RegExpExecArray> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  for (;;) {
    let text = '';
    try {
      text = screenText(cast);
    } catch {
      // Not there yet, or half a line.
    }
    const match = pattern.exec(text);
    if (match !== null) return match;
    if (performance.now() > deadlineMs) throw new Error(`the terminal never showed ${pattern}:\n${text}`);
    await sleep(100);
  }
}

function startTerminal(folder: string, cast: string, env: Readonly<Record<string, string>>): ChildProcess {
  writeFileSync(join(folder, 'session.sh'), SESSION);
  const size = ['--cols', String(SIZE.columns), '--rows', String(SIZE.rows)];
  const flags = ['--quiet', ...size, '--idle-time-limit', String(LONGEST_PAUSE_S)];
  return spawn('asciinema', ['rec', ...flags, '--command', 'bash session.sh', cast], {
    cwd: folder,
    env: {
      ...{ PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/bash' },
      ...env,
    },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

async function record(folder: string): Promise<void> {
  const tasks: (() => Promise<void>)[] = [];
  const cleanup = { after: (task: () => Promise<void>) => void tasks.unshift(task) };
  try {
    const pebble = await startPebble(cleanup, { rejectedNonces: 0, certificateDays: 90 });
    pebble.tls.targets.push(443);
    pebble.http.targets.push(80);
    const authority = await pebble.root();
    const trusted = join(folder, 'trusted.pem');
    writeFileSync(trusted, authority);
    const app = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(APP);
    }).listen(3000, '127.0.0.1');
    await once(app, 'listening');
    cleanup.after(async () => app.closeAllConnections());
    cleanup.after(async () => void app.close());

    const cast = join(folder, 'session.cast');
    const terminal = startTerminal(folder, cast, {
      POSTERN_ACME_DIRECTORY: pebble.directoryUrl,
      POSTERN_ACME_CA_FILE: pebble.caFile,
      CURL_CA_BUNDLE: trusted,
    });
    const ended = once(terminal, 'exit');
    cleanup.after(async () => void terminal.kill());
    await untilShown(cast, /terms of service.*\[y\/N\]/s);
    await sleep(1_500);
    terminal.stdin?.write('y\n');
    await untilShown(cast, /until you press Ctrl-C/);
    writeFileSync(join(folder, 'published'), '');
    const [, invitation = ''] = await untilShown(cast, /\$ postern users add[\s\S]*?(https:\S+\/invitation\S+)/);
    const pages = await photograph(cleanup, { authority, invitation, app: `https://${HOST}/` });
    writeFileSync(join(folder, 'photographed'), '');
    await ended;

    const shown = withoutTokens(screenText(cast));
    writeFileSync(cast, withoutTokens(readFileSync(cast, 'utf8')));
    execFileSync('termtosvg', ['render', cast, ANIMATION, '-t', 'window_frame', '-D', String(PAUSE_AT_END_MS)]);
    writeFileSync(ANIMATION, animate(readFileSync(ANIMATION, 'utf8'), pages));
    const lines = shown.split('\n').filter((line) => /^(Address|Certificate|Login|Invite): /.test(line));
    await writePicture(cleanup, PICTURE, { command: UP, lines, pages });
    if (statSync(PICTURE).size > LARGEST_PICTURE_BYTES) throw new Error(`${PICTURE} is too large`);
    for (const file of [ANIMATION, PICTURE])
      process.stdout.write(`wrote ${file} (${Math.round(statSync(file).size / 1024)} KB)\n`);
  } finally {
    for (const task of tasks) await task();
  }
}

const [, , recordingFolder] = process.argv;
if (recordingFolder !== undefined) {
  await record(recordingFolder);
} else {
  if (!readFileSync(join(root, 'README.md'), 'utf8').includes(UP)) throw new Error(`the README shows other than ${UP}`);
  const folder = mkdtempSync(join(tmpdir(), 'postern-picture-'));
  try {
    writeFileSync(join(folder, 'hosts'), `127.0.0.1 localhost\n${ADDRESS} ${HOST} ${IDENTITY_HOST}\n`);
    const again = [process.execPath, fileURLToPath(import.meta.url), folder];
    execFileSync('unshare', ['--map-root-user', '--net', '--mount', 'sh', '-ec', PREPARE, ...again], {
      cwd: folder,
      stdio: 'inherit',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
