import { parse } from 'yaml';

/** A file of its own, loaded on demand: a bundle gives an import of the package itself no names, since it is CommonJS. */
export function parseYaml(text: string): unknown {
  return parse(text);
}
