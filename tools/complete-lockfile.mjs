/**
 * Adds the optional platform packages to package-lock.json that npm left out because the registry did not have them
 * when the lockfile was written. `npm ci` refuses a lockfile that lacks them, although they are never installed on
 * other platforms. Then asks npm for hashes that are missing.
 *   node tools/complete-lockfile.mjs [FOLDER]      after `npm install` in FOLDER, such as site; runs on any Node
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = ['arm64', 'x64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64'];
const file = new URL(`../${process.argv[2] ?? '.'}/package-lock.json`, import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));

for (const owner of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (lock.packages[path] !== undefined || !/^\d/.test(version)) continue;
    const words = name.split(/[/-]/);
    const os = SYSTEMS.filter((system) => words.includes(system) || (system === 'win32' && words.includes('windows')));
    const cpu = PROCESSORS.filter((processor) => words.includes(processor));
    const libc = /musl/.test(name) ? ['musl'] : /-gnu/.test(name) ? ['glibc'] : [];
    if (os.length === 0) throw new Error(`which platform is ${name} for?`);
    lock.packages[path] = {
      version,
      ...(cpu.length > 0 && { cpu }),
      ...(libc.length > 0 && { libc }),
      optional: true,
      os,
    };
    process.stdout.write(`added ${name}\n`);
  }
}
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!path.includes('node_modules/') || entry.link || entry.integrity !== undefined) continue;
  const name = path.split('node_modules/').at(-1);
  try {
    const args = ['view', `${name}@${entry.version}`, 'dist.integrity'];
    const integrity = execFileSync('npm', args, { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
    if (integrity !== '') entry.integrity = integrity;
  } catch {
    // Still not in the registry. The package is for another platform, so that nobody here installs it without a hash.
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
