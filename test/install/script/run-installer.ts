import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from '../../docs/markdown.ts';

export const SCRIPT = readFileSync(join(projectRoot, 'install.sh'), 'utf8');

/** A machine's shell, tools and downloader. */
export interface Machine {
  readonly name: string;
  readonly shell: readonly string[];
  readonly tools: 'system' | 'busybox';
  readonly downloader: 'curl' | 'wget';
}

export const MACHINES: readonly Machine[] = [
  { name: 'dash with curl', shell: ['dash'], tools: 'system', downloader: 'curl' },
  { name: 'dash with wget', shell: ['dash'], tools: 'system', downloader: 'wget' },
  { name: 'busybox with its wget', shell: ['busybox', 'sh'], tools: 'busybox', downloader: 'wget' },
  { name: 'busybox with curl', shell: ['busybox', 'sh'], tools: 'busybox', downloader: 'curl' },
];

/** Programs that install.sh and the executable of the tests run. */
const TOOLS = 'uname mktemp rm awk chmod cmp mv mkdir df grep tail head tr sha256sum env cat sh tar'.split(' ');

export interface Run {
  readonly script?: string;
  readonly machine: Machine;
  /** A folder of the test's own. */
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  /** Programs that replace those of the machine: their text, or `null` for a program that is missing. */
  readonly programs?: Readonly<Record<string, string | null>>;
  /** Before the script, in the same shell. */
  readonly first?: string;
  /** Behind `sh -s --`. */
  readonly arguments?: readonly string[];
  readonly identity?: { readonly uid?: number; readonly gid?: number };
}

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts `… | sh` on a machine that has only what it needs. */
export function startInstaller({
  script = SCRIPT,
  machine,
  scratch,
  env,
  programs = {},
  first,
  identity,
  ...run
}: Run) {
  const { arguments: words = [] } = run;
  const bin = mkdtempSync(join(scratch, 'bin-'));
  chmodSync(bin, 0o755);
  const wanted: Record<string, string | null> = {
    uname: 'case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac',
    ldd: 'echo "ldd (Debian GLIBC 2.36-9) 2.36"',
    getconf: 'echo "glibc 2.36"',
    ldconfig: 'echo "libatomic.so.1 => x"; echo "libstdc++.so.6 => x"',
    ...programs,
  };
  for (const tool of [...TOOLS, 'ssh-keygen', machine.downloader]) {
    if (tool in wanted) continue;
    const isOwn = tool === 'ssh-keygen' || tool === 'curl';
    symlinkSync(findProgram(machine.tools === 'busybox' && !isOwn ? 'busybox' : tool), join(bin, tool));
  }
  for (const [name, text] of Object.entries(wanted))
    if (text !== null) writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const [shell = '', ...options] = machine.shell;
  const args = words.length === 0 ? options : [...options, '-s', '--', ...words];
  // A group of its own: a test interrupts it as a terminal would.
  const program = findProgram(shell);
  const again = ['-c', `${first}; exec ${[program, ...args].join(' ')}`];
  const child = spawn(program, first === undefined ? args : [...args, ...again], {
    cwd: scratch,
    env: { PATH: bin, LANG: 'C', ...env },
    detached: true,
    ...identity,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(script);
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const ended = new Promise<Outcome>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  return { pid: child.pid ?? 0, ended, ignore: () => child.stdout.destroy() };
}

export function runInstaller(run: Run): Promise<Outcome> {
  return startInstaller(run).ended;
}

/** For `skip`: a machine that cannot be had here is named, and not passed over. */
export function missingFor({ name, shell, tools, downloader }: Machine): string | false {
  const needed = [shell[0] ?? '', downloader, 'ssh-keygen', ...(tools === 'busybox' ? ['busybox'] : [])];
  const missing = needed.filter((program) => lookUp(program) === undefined);
  if (missing.length === 0) return false;
  const text = `INSTALL.SH WAS NOT RUN ON ${name}: install ${missing.join(', ')}`;
  console.error(text);
  return text;
}

function findProgram(name: string): string {
  const found = lookUp(name);
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}

function lookUp(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
