import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tryToBuildConsole } from './build-console.ts';

/**
 * `npm start`: a server of this checkout, on whose identity host people can log in. Flags of `postern server` may
 * follow.
 */
tryToBuildConsole();
const launcher = join(fileURLToPath(new URL('..', import.meta.url)), 'bin', 'postern.mjs');
// An empty variable leaves the identity host off.
const env = { POSTERN_IDENTITY_HOST: 'id.localhost:7443', ...process.env };
if (process.execve === undefined) throw new Error('npm start does not work on this platform: run "npx postern server"');
process.execve(process.execPath, [process.execPath, launcher, 'server', ...process.argv.slice(2)], env);
