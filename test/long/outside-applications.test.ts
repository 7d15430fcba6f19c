import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../docs/markdown.ts';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';

// Own process: compiles and runs applications in other languages.
/** Short form: test/identity/applications.test.ts shows the same with openid-client. */
const PROGRAMS = join(projectRoot, 'test', 'long', 'outside-applications');

interface Judge {
  /** Folder below `outside-applications`. */
  readonly program: string;
  readonly needs: string;
  readonly steps: readonly string[];
}

const judges: Readonly<Record<string, Judge>> = {
  'go-oidc, with an authenticator in Go': {
    program: 'go-oidc',
    needs: 'go',
    steps: ['go build -o judge .', './judge'],
  },
  'authlib, with soft-webauthn': {
    program: 'authlib',
    needs: 'python3',
    steps: [
      'python3 -m venv venv',
      'venv/bin/pip install --quiet -r requirements.txt',
      'venv/bin/python application.py',
    ],
  },
};

const directory = await mkdtemp(join(tmpdir(), 'postern-applications-'));
after(() => rm(directory, { recursive: true, force: true }));

suite('applications in other languages log people in with passkeys', () => {
  for (const [name, { program, needs, steps }] of Object.entries(judges)) {
    const isInstalled = spawnSync('which', [needs], { stdio: 'ignore' }).status === 0;
    const skip = !isInstalled && `${program.toUpperCase()} DID NOT JUDGE THE IDENTITY HOST: ${needs} is not installed`;
    if (skip !== false) console.error(`\n!! ${skip}\n`);
    test(name, { skip }, async (t) => {
      const [address = ''] = ownAddresses(1);
      const [port] = await freePortsOn(address, 1);
      const host = `id.localhost:${port}`;
      const edge = await EdgeWorld.open(t, {
        POSTERN_EDGE_LISTEN: `${address}:${port}`,
        POSTERN_IDENTITY_HOST: host,
      });
      const target = join(directory, program);
      await cp(join(PROGRAMS, program), target, { recursive: true });
      const ca = join(target, 'ca.pem');
      await writeFile(ca, edge.ca.join('\n'));
      const env = {
        ...process.env,
        POSTERN_ISSUER: `https://${host}`,
        POSTERN_EDGE_IP: address,
        POSTERN_CA_FILE: ca,
        POSTERN_API_URL: edge.world.baseUrl,
        POSTERN_API_KEY: TEST_API_KEY,
      };
      let output = '';
      for (const step of steps) output = await run(step, target, env);
      assert.match(output, /done/);
      assert.deepEqual(
        edge.world.logLines.filter((line) => line.includes('a bug was contained')),
        [],
      );
    });
  }
});

async function run(step: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [file = '', ...args] = step.split(' ');
  try {
    return (await promisify(execFile)(file, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    assert.fail(`${step} failed:\n${(stdout + stderr).slice(-6000)}`);
  }
}
