import { readYaml } from '../lib/text/yaml/read-yaml.ts';
import type { YamlMap } from '../lib/text/yaml/yaml-node.ts';
import type { FileProblem } from './file-problem.ts';
import { MAX_FILE_BYTES } from './format.ts';

export interface FileReading {
  /** Null when the text cannot be read, or has no content. */
  readonly root: YamlMap | null;
  readonly problems: readonly FileProblem[];
}

/** The map of a file. Aliases are rejected: a difference of two files must show all that differs. */
export function readFileText(file: string, text: string): FileReading {
  const fail = (line: number, problem: string): FileReading => ({ root: null, problems: [{ file, line, problem }] });
  if (text.length > MAX_FILE_BYTES) {
    return fail(1, `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB: divide it into several files`);
  }
  const { root, problems } = readYaml(text, { hasAliases: false });
  if (root !== null && root.type !== 'map') return fail(root.line, 'must be a map: start it with "version: 1"');
  return { root, problems: problems.map(({ line, problem }) => ({ file, line, problem })) };
}
