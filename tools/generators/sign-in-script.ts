import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { esbuild } from '../esbuild.ts';

export const name = 'tools/generators/sign-in-script.ts';

const TARGET = 'src/control/identity/pages/generated/sign-in.js';

/** The script of the login pages, from console/sign-in and `@simplewebauthn/browser`. */
export async function generate(): Promise<Map<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-generate-'));
  try {
    const output = join(folder, 'sign-in.js');
    esbuild([
      'console/sign-in/main.ts',
      '--bundle',
      '--minify',
      '--format=iife',
      '--target=es2022',
      '--legal-comments=none',
      '--log-level=warning',
      '--banner:js=/* Contains @simplewebauthn/browser, (c) Matthew Miller, MIT license. */',
      `--outfile=${output}`,
    ]);
    const script = await readFile(output, 'utf8');
    // The script stands inside an HTML page.
    if (/<\/script|<!--/i.test(script)) throw new Error('the script contains text that ends a script element');
    return new Map([[TARGET, script]]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
