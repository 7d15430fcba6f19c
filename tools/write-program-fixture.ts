import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

/**
 * Writes the program of a version, with its dependencies, for the two `two-versions.test.ts`.
 *   git worktree add ../old <commit> && (cd ../old && npm ci)
 *   node tools/write-program-fixture.ts ../old test/durability/fixtures/<commit>-program.tar.br
 */
const [checkout = '', output = ''] = process.argv.slice(2).map((path) => resolve(path));
if (output === '') throw new Error('usage: node tools/write-program-fixture.ts CHECKOUT OUTPUT.tar.br');

const folder = mkdtempSync(join(tmpdir(), 'postern-program-'));
const bundler = pathToFileURL(join(checkout, 'tools', 'test-runner', 'bundled-program.ts')).href;
const script = `(await import('${bundler}')).bundledProgram(${JSON.stringify(checkout)}, ${JSON.stringify(folder)})`;
execFileSync(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' });
const sameEveryTime = ['--sort=name', '--owner=0', '--group=0', '--mtime=@0'];
const tar = execFileSync('tar', ['-cf', '-', ...sameEveryTime, '-C', folder, '.'], { maxBuffer: 2 ** 30 });
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
};
writeFileSync(output, brotliCompressSync(tar, { params }));
rmSync(folder, { recursive: true });
console.log(`wrote ${output}`);
