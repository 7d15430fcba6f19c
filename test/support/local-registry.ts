import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Cleanup } from './cleanup.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const MAX_TARBALL_BYTES = 64 * 1024 * 1024;

/**
 * An npm registry on loopback that serves the packages of this checkout's node_modules, so that a real `npm install`
 * needs no network. Returns its address.
 */
export async function openLocalRegistry(test: Cleanup): Promise<string> {
  const folders = packageFolders();
  const server = createServer((request, response) => {
    const [name = '', file] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/');
    const found = folders.get(name) ?? [];
    if (file === undefined) return response.end(JSON.stringify(packument(name, found, base())));
    packed(found[Number(file.split('.')[0])] ?? '').then(
      (bytes) => response.end(bytes),
      () => response.writeHead(500).end(),
    );
    return undefined;
  });
  const base = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return base();
}

/** Every installed version of a package: some are nested in others. */
function packageFolders(): ReadonlyMap<string, readonly string[]> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  const folders = new Map<string, string[]>();
  for (const path of Object.keys(packages)) {
    const name = path.split('node_modules/').at(-1) ?? '';
    if (path.includes('node_modules/') && existsSync(join(root, path, 'package.json')))
      folders.set(name, [...(folders.get(name) ?? []), join(root, path)]);
  }
  return folders;
}

function packument(name: string, folders: readonly string[], base: string): object {
  const versions = Object.fromEntries(
    folders.map((folder, index) => {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
      return [manifest.version, { ...manifest, scripts: {}, dist: { tarball: `${base}/${name}/-/${index}.tgz` } }];
    }),
  );
  return { name, versions, 'dist-tags': { latest: Object.keys(versions)[0] } };
}

async function packed(folder: string): Promise<Buffer> {
  const args = ['-c', '--exclude=./node_modules', '--transform=s,^\\.,package,', '-C', folder, '.'];
  const { stdout } = await run('tar', args, { encoding: 'buffer', maxBuffer: MAX_TARBALL_BYTES });
  return stdout;
}
