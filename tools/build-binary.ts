import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBinary } from './binary/build-binary.ts';

/** `npm run build:binary [FOLDER]`: writes dist/postern-<os>-<arch>. */
const root = fileURLToPath(new URL('..', import.meta.url));
const binary = buildBinary(process.argv[2] ?? `${root}/dist`);
console.log(`built ${relative(process.cwd(), binary)} (${Math.round(statSync(binary).size / 1e6)} MB)`);
