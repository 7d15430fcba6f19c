import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isInContext } from '../../tools/release/container-context.ts';
import { projectRoot } from '../docs/markdown.ts';
import { stages } from '../install/dockerfile.ts';
import { sharedBuild } from './shared-build.ts';

/**
 * The single executable, built once for all test files, by the steps of the Dockerfile: so they are tested too.
 * POSTERN_TEST_BINARY names one that is built already.
 */
export async function builtBinary(): Promise<string> {
  const given = process.env['POSTERN_TEST_BINARY'];
  if (given !== undefined && existsSync(given)) return given;
  return join(await builtByDockerfile(), 'out', 'postern');
}

/** The folder `/build` of the Dockerfile's first stage. */
export function builtByDockerfile(): Promise<string> {
  return sharedBuild('binary', async (build) => {
    for (const { name, text } of stages()[0] ?? []) {
      if (name === 'COPY') copyInto(build, text);
      // CI runs "npm ci"; the build gets the result.
      if (name === 'RUN' && text === 'npm ci')
        symlinkSync(join(projectRoot, 'node_modules'), join(build, 'node_modules'));
      else if (name === 'RUN')
        execFileSync('sh', ['-euc', text.replaceAll('/build', build)], { cwd: build, stdio: 'pipe' });
    }
  });
}

function copyInto(build: string, text: string): void {
  const words = text.split(' ');
  const target = words.at(-1) ?? '';
  for (const path of words.slice(0, -1)) {
    const isFolder = statSync(join(projectRoot, path)).isDirectory();
    const to = target.endsWith('/') ? join(build, target, path.split('/').at(-1) ?? '') : join(build, target);
    const filter = (source: string): boolean =>
      source === join(projectRoot, path) || isInContext(source.slice(projectRoot.length).replace(/^\//, ''));
    cpSync(join(projectRoot, path), to, { recursive: isFolder, filter });
  }
}
