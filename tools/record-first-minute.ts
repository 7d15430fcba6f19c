/**
 * Records docs/first-minute.svg: a real session of `postern up` on loopback, as an animation. Needs Linux and Debian's
 * packages asciinema and termtosvg.
 *   npm run picture
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PICTURE = join(root, 'docs/first-minute.svg');
const SIZE = { columns: 104, rows: 28 };
/** Every frame takes space in the file. */
const TYPED_AT_ONCE = 6;
const LONGEST_PAUSE_S = 2;
const PAUSE_AT_END_MS = 6_000;
const UP = 'postern up app.localhost --to 3000 --login --allow-email ana@example.com';
const INVITE = 'postern users add ana@example.com   # in a second terminal';
const VISIT = 'curl -sI --cacert <(postern ca print) https://app.localhost:7443/ | head -n 1   # without a login';

/** The session. What is typed is what runs. */
const SESSION = `
postern() { '${process.execPath}' '${join(root, 'bin/postern.mjs')}' "$@"; }
show() {
  printf '\\033[32m$\\033[0m '
  for ((at = 0; at < \${#1}; at += ${TYPED_AT_ONCE})); do printf '%s' "\${1:at:${TYPED_AT_ONCE}}"; sleep 0.15; done
  printf '\\n'
}
serve='require("http").createServer((request, response) => response.end("hello")).listen(3000, "127.0.0.1")'
'${process.execPath}' -e "$serve" &
sleep 1
show '${UP}'
${UP} < /dev/tty &
until curl -sko /dev/null -H 'Accept: text/html' https://app.localhost:7443/; do sleep 0.2; done
sleep 3
printf '\\n'
show '${INVITE}'
${INVITE}
sleep 2
printf '\\n'
show '${VISIT}'
${VISIT}
sleep 2
kill %1 %2
wait
`;

/** Nobody's ports and services: a network of its own, and a machine without systemd, where the server runs in the terminal. */
const ALONE = ['--map-root-user', '--net', '--mount', 'sh', '-c'];
const PREPARE = 'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$0" "$@"';

function record(folder: string): string {
  const cast = join(folder, 'session.cast');
  writeFileSync(join(folder, 'session.sh'), SESSION);
  const size = ['--cols', String(SIZE.columns), '--rows', String(SIZE.rows)];
  const flags = ['--quiet', ...size, '--idle-time-limit', String(LONGEST_PAUSE_S)];
  const words = ['asciinema', 'rec', ...flags, '--command', 'bash session.sh', cast];
  const env = { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/bash' };
  execFileSync('unshare', [...ALONE, PREPARE, ...words], {
    cwd: folder,
    env,
    stdio: ['inherit', 'inherit', 'inherit'],
  });
  return cast;
}

/** The tokens are those of a server that is gone, and nobody should have to wonder. */
function withoutTokens(text: string): string {
  return text.replaceAll(/(postern_[a-z]+_)[\w-]{20,}(\.[0-9a-f]+)?/g, '$1…');
}

const folder = mkdtempSync(join(tmpdir(), 'postern-picture-'));
try {
  const cast = record(folder);
  writeFileSync(cast, withoutTokens(readFileSync(cast, 'utf8')));
  execFileSync('termtosvg', ['render', cast, PICTURE, '-t', 'window_frame', '-D', String(PAUSE_AT_END_MS)]);
  process.stdout.write(`wrote ${PICTURE} (${Math.round(readFileSync(PICTURE).length / 1024)} KB)\n`);
} finally {
  rmSync(folder, { recursive: true });
}
