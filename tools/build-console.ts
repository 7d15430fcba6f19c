import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { esbuild } from './esbuild.ts';

/** `npm run build:console`: bundles console/src into console/dist, which the server serves at /console. */
const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = join(root, 'console', 'src');
const OUTPUT = join(root, 'console', 'dist');
const MANIFEST = 'manifest.json';
const COMPRESSED = new Set(['.js', '.css', '.html', '.svg', '.json']);

/** Sources of the server that the page shares. Types leave nothing in the bundle. */
const SHARED = [
  'src/client/sites.ts',
  'src/client/publish/*.ts',
  'src/kit/json.ts',
  'src/kit/net/host-name.ts',
  'src/kit/net/range-text.ts',
  'src/kit/schema/body-fields.ts',
  'src/kit/text/time.ts',
  'src/control/resources/guest_links/link-expiry.ts',
];

interface Metafile {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<Record<string, { readonly entryPoint?: string; readonly cssBundle?: string }>>;
}

/** Builds in a folder of its own and renames it: a server or a second build never sees half of one. */
export function buildConsole(): void {
  const scratch = mkdtempSync(join(root, 'console', '.dist-'));
  try {
    const assets = join(scratch, 'assets');
    const metafile = join(scratch, 'meta.json');
    esbuild([
      join(SOURCE, 'main.tsx'),
      '--bundle',
      '--minify',
      '--splitting',
      '--format=esm',
      '--target=es2023',
      '--jsx=automatic',
      '--jsx-import-source=preact',
      '--legal-comments=none',
      '--log-level=warning',
      '--entry-names=[name]-[hash]',
      '--chunk-names=[name]-[hash]',
      '--asset-names=[name]-[hash]',
      '--loader:.svg=file',
      '--loader:.woff2=file',
      `--metafile=${metafile}`,
      `--outdir=${assets}`,
    ]);
    const { inputs, outputs } = JSON.parse(readFileSync(metafile, 'utf8')) as Metafile;
    requireListed(Object.keys(inputs));
    rmSync(metafile);
    writeFileSync(join(scratch, 'index.html'), pageHtml(outputs));
    for (const file of filesIn(scratch)) compress(join(scratch, file));
    const files = filesIn(scratch);
    writeFileSync(join(scratch, MANIFEST), `${JSON.stringify({ source: sourceDigest(), files }, null, 2)}\n`);
    // The server may run as another user than the build.
    chmodSync(scratch, 0o755);
    replaceOutput(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A change of a source that the digest leaves out would not be built. */
function requireListed(inputs: readonly string[]): void {
  const shared = new Set(globSync(SHARED, { cwd: root }));
  const unlisted = inputs.filter((path) => path.startsWith('src/') && !shared.has(path));
  if (unlisted.length > 0) throw new Error(`the page imports ${unlisted.join(', ')}: add it to SHARED`);
}

/** Another build may have been faster, with the same result. */
function replaceOutput(scratch: string): void {
  rmSync(OUTPUT, { recursive: true, force: true });
  try {
    renameSync(scratch, OUTPUT);
  } catch (error) {
    if (builtFrom() !== sourceDigest()) throw error;
  }
}

/**
 * Returns whether it had to build. `npm start` and the tests use it: sources that did not change are not built again.
 */
export function buildConsoleIfStale(): boolean {
  if (builtFrom() === sourceDigest()) return false;
  buildConsole();
  return true;
}

/** For `npm ci` and `npm start`: neither may fail for want of the console, whose page then says how to build it. */
export function tryToBuildConsole(): void {
  try {
    if (buildConsoleIfStale()) console.error('built console/dist');
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    console.error(`the console is not built (${reason}): run "npm ci && npm run build:console"`);
  }
}

function pageHtml(outputs: Metafile['outputs']): string {
  // A page that is loaded later counts as an entry point too.
  const [script, entry] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx')) ?? [];
  if (script === undefined) throw new Error('esbuild named no entry point');
  const tags = [
    ...(entry?.cssBundle === undefined ? [] : [`<link rel="stylesheet" href="${assetUrl(entry.cssBundle)}">`]),
    `<script type="module" src="${assetUrl(script)}"></script>`,
  ];
  const template = readFileSync(join(SOURCE, 'index.html'), 'utf8');
  if (!template.includes('{{built}}')) throw new Error('console/src/index.html lacks {{built}}');
  return template.replace('{{built}}', tags.join('\n'));
}

function assetUrl(output: string): string {
  return `/console/assets/${basename(output)}`;
}

function compress(file: string): void {
  if (!COMPRESSED.has(extname(file))) return;
  const bytes = readFileSync(file);
  const size = { [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: size }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

function builtFrom(): string | null {
  const manifest = join(OUTPUT, MANIFEST);
  if (!existsSync(manifest)) return null;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { source: string }).source;
}

function sourceDigest(): string {
  const digest = createHash('sha256');
  const inputs = ['console/package.json', 'tools/build-console.ts', 'package-lock.json'];
  const sources = globSync(['console/src/**', ...SHARED], { cwd: root }).filter((path) =>
    statSync(join(root, path)).isFile(),
  );
  for (const path of [...inputs, ...sources.sort()]) digest.update(path).update(readFileSync(join(root, path)));
  return digest.digest('hex');
}

if (import.meta.main) {
  buildConsole();
  console.log('built console/dist');
}
