import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildBinary } from '../../tools/binary/build-binary.ts';
import { sharedBuild } from './shared-build.ts';

/** The single executable, built once for all test files; POSTERN_TEST_BINARY names one that is built already. */
export async function builtBinary(): Promise<string> {
  const given = process.env['POSTERN_TEST_BINARY'];
  if (given !== undefined && existsSync(given)) return given;
  const folder = await sharedBuild('binary', async (target) => {
    buildBinary(target);
  });
  return join(folder, `postern-${process.platform}-${process.arch}`);
}
