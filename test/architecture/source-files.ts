import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Stands beside the folders of modules, and is none. */
export const MODULE_CONTRACT = 'src/modules/contract/';

export interface ImportLine {
  /** Path relative to the project root, for our own files; otherwise the package's name. */
  readonly target: string;
  readonly isOwn: boolean;
  readonly isTypeOnly: boolean;
  /** Under the names of the imported file; `*` for all of it. */
  readonly names: readonly string[];
}

export interface SourceFile {
  /** Relative to the project root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly ImportLine[];
}

export function filesIn(...patterns: string[]): readonly string[] {
  return globSync(patterns, { cwd: projectRoot })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
}

/** The product's own files, without tests. */
export function productFiles(): readonly SourceFile[] {
  return sourcesIn('src/**/*.ts');
}

/** Files of the console, without tests. */
export function consoleFiles(): readonly SourceFile[] {
  return sourcesIn('console/src/**/*.{ts,tsx}');
}

function sourcesIn(pattern: string): readonly SourceFile[] {
  return filesIn(pattern)
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .map((path) => {
      const text = readFileSync(join(projectRoot, path), 'utf8');
      return { path, text, imports: importsIn(path, text) };
    });
}

/** These files, and all that they import when they run. */
export function reachedFrom(files: readonly SourceFile[], starts: readonly string[]): ReadonlySet<string> {
  const targets = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.filter((line) => line.isOwn && !line.isTypeOnly).map((line) => line.target),
    ]),
  );
  const reached = new Set(starts);
  for (const path of reached) for (const target of targets.get(path) ?? []) reached.add(target);
  return reached;
}

export function importsIn(path: string, text: string): readonly ImportLine[] {
  const statements = text.matchAll(
    /^(?:import|export)\s+(type\s)?([^;'"]*?)from\s+'([^']+)'|^import\s+'([^']+)'|import\('([^']+)'\)/gm,
  );
  return Array.from(statements, (match) => {
    const target = match[3] ?? match[4] ?? match[5] ?? '';
    const isOwn = target.startsWith('.');
    return {
      target: isOwn ? normalize(join(dirname(path), target)).replaceAll('\\', '/') : target,
      isOwn,
      isTypeOnly: match[1] !== undefined,
      names: namesIn(match[2]),
    };
  });
}

function namesIn(clause: string | undefined): readonly string[] {
  const braces = /\{([^}]*)\}/.exec(clause ?? '*');
  if (braces === null) return ['*'];
  return (braces[1] as string).split(',').map((name) =>
    name
      .trim()
      .replace(/^type /, '')
      .replace(/ as .*/, ''),
  );
}
