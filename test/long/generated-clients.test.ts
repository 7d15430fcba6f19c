import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { appendFile, copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../docs/markdown.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

// Own process: compiles five clients.
/**
 * Short form: test/api/openapi-generators.test.ts holds the rules that these programs need, over the whole document.
 */
const GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0';
const PROGRAMS = join(projectRoot, 'test', 'long', 'generated-clients');
const TSC_FLAGS = '--strict --target es2022 --module es2022 --moduleResolution bundler --lib es2022,dom';

interface Language {
  readonly generator: string;
  readonly options?: string;
  /** Programs that it needs beside Java and Maven, which run the generator. */
  readonly needs: readonly string[];
  /** Where the program that uses the client belongs. */
  readonly program: readonly [name: string, place: string];
  readonly prepare?: (directory: string) => Promise<void>;
  /** Build, and then run. */
  readonly steps: readonly string[];
}

const languages: Readonly<Record<string, Language>> = {
  Go: {
    generator: 'go',
    needs: ['go'],
    program: ['crud.go', 'crud/main.go'],
    steps: ['go build ./...', 'go build -o crud/crud ./crud', './crud/crud'],
  },
  Python: {
    generator: 'python',
    needs: ['python3'],
    program: ['crud.py', 'crud.py'],
    steps: ['python3 -m venv venv', 'venv/bin/pip install --quiet .', 'venv/bin/python crud.py'],
  },
  TypeScript: {
    generator: 'typescript-fetch',
    needs: [],
    program: ['crud.mts.txt', 'crud.ts'],
    steps: [
      `${join(projectRoot, 'node_modules/.bin/tsc')} --noEmit ${TSC_FLAGS} index.ts crud.ts`,
      `${join(projectRoot, 'node_modules/.bin/esbuild')} crud.ts --bundle --format=esm --outfile=crud.mjs --log-level=error`,
      `${process.execPath} crud.mjs`,
    ],
  },
  Rust: {
    generator: 'rust',
    needs: ['cargo'],
    program: ['crud.rs', 'src/bin/crud.rs'],
    prepare: (directory) =>
      appendFile(join(directory, 'Cargo.toml'), '\n[dependencies.tokio]\nversion = "1"\nfeatures = ["macros", "rt"]\n'),
    steps: ['cargo build --quiet', './target/debug/crud'],
  },
  Java: {
    generator: 'java',
    needs: [],
    program: ['Crud.java', 'src/app/main/java/org/openapitools/client/Crud.java'],
    steps: [
      'mvn --batch-mode --quiet compile dependency:copy-dependencies -DincludeScope=runtime',
      'java -cp target/classes:target/dependency/* org.openapitools.client.Crud',
    ],
  },
};

const directory = await mkdtemp(join(tmpdir(), 'postern-clients-'));
after(() => rm(directory, { recursive: true, force: true }));
const missing = ['java', 'mvn'].filter((program) => !isInstalled(program));
const jar = missing.length === 0 ? await fetchGenerator() : null;

suite('clients that openapi-generator makes compile, and create, read, change and delete an edge', () => {
  for (const [name, language] of Object.entries(languages)) {
    const absent = [...missing, ...language.needs.filter((program) => !isInstalled(program))];
    const reason = absent.length > 0 ? `${absent.join(' and ')} is not installed` : `Maven cannot fetch ${GENERATOR}`;
    const skip = (absent.length > 0 || jar === null) && `THE ${name.toUpperCase()} CLIENT WAS NOT MADE: ${reason}`;
    if (skip !== false) console.error(skip);
    test(name, { skip }, async (t) => {
      const world = await TestWorld.open(t);
      const target = join(directory, language.generator);
      const document = join(projectRoot, 'openapi.json');
      const { generator, options = '' } = language;
      await run(`java -jar ${jar} generate -i ${document} -g ${generator} -o ${target}${options}`, directory, world);
      await language.prepare?.(target);
      const [program, place] = language.program;
      await mkdir(join(target, place, '..'), { recursive: true });
      await copyFile(join(PROGRAMS, program), join(target, place));
      let output = '';
      for (const step of language.steps) output = await run(step, target, world);
      assert.match(output, /done/);
    });
  }
});

async function run(step: string, cwd: string, world: TestWorld): Promise<string> {
  const [file = '', ...args] = step.split(' ');
  const env = { ...process.env, POSTERN_API_URL: world.baseUrl, POSTERN_API_KEY: TEST_API_KEY };
  try {
    const { stdout } = await promisify(execFile)(file, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    assert.fail(`${step} failed:\n${(stdout + stderr).slice(0, 4000)}`);
  }
}

async function fetchGenerator(): Promise<string | null> {
  const copy = [
    '--batch-mode',
    '--quiet',
    'dependency:copy',
    `-Dartifact=${GENERATOR}`,
    `-DoutputDirectory=${directory}`,
  ];
  if (spawnSync('mvn', copy, { cwd: directory, stdio: 'inherit' }).status !== 0) return null;
  const found = (await readdir(directory)).find((name) => name.endsWith('.jar'));
  return found === undefined ? null : join(directory, found);
}

function isInstalled(program: string): boolean {
  return spawnSync('which', [program], { stdio: 'ignore' }).status === 0;
}
