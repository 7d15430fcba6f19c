import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Cleanup } from '../support/cleanup.ts';
import { tempDir } from '../support/temp-dir.ts';
import { projectRoot } from './source-files.ts';

const COPIED = [
  'bin',
  'src',
  'tools',
  'test/support',
  'test/architecture/source-files.ts',
  'console/sign-in',
  'docs',
  'llms.txt',
  'ARCHITECTURE.md',
  'man',
  'openapi.json',
  'package.json',
  'biome.json',
  'tsconfig.json',
];

/** A copy of the project that a test extends, and in which it then runs the project's own programs. */
export class ProjectCopy {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async make(test: Cleanup): Promise<ProjectCopy> {
    const root = await tempDir(test);
    for (const path of COPIED) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      cpSync(join(projectRoot, path), join(root, path), { recursive: true });
    }
    symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'));
    return new ProjectCopy(root);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  /** Runs a file of the copy, and returns its output. */
  async run(path: string, ...args: readonly string[]): Promise<string> {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const options = { cwd: this.root, env, timeout: 120_000, maxBuffer: 16 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(process.execPath, [join(this.root, path), ...args], options);
    return stdout;
  }
}
