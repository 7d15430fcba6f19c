import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { refSchema } from '../../src/kit/schema/annotations.ts';
import { type ClientResource, clientResources } from './client/client-resource.ts';
import { declaredTypes } from './client/operation-types.ts';
import { HEAD, resourceFile } from './client/resource-file.ts';
import { comment, NamedTypes } from './client/type-text.ts';
import { registeredOperationList } from './operations/registered.ts';

const FOLDER = 'src/client/generated';
const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

export const name = 'client';

/**
 * The client's types and classes. They are generated instead of inferred, because the registries hold every resource
 * under one type, and because a client that imported the schemas would bring half of the server into a browser.
 */
export async function generate(): Promise<Map<string, string>> {
  const resources = clientResources(registeredOperationList());
  const all = resources.flatMap((resource) => [...resource.modules, resource]);
  const { named, homes } = nameTypes(all);
  const texts = new Map(all.map((resource) => [`${resource.file}.ts`, resourceFile(resource, named, homes)]));
  texts.set('resources.ts', resourcesFile(resources, all));
  return format(texts);
}

function nameTypes(all: readonly ClientResource[]): { named: NamedTypes; homes: ReadonlyMap<string, string> } {
  const named = new NamedTypes();
  const homes = new Map<string, string>();
  named.add(refSchema, 'Ref');
  for (const resource of all) {
    for (const type of declaredTypes(resource)) {
      homes.set(type.name, resource.file);
      named.add(type.schema, type.name);
    }
  }
  return { named, homes };
}

function resourcesFile(resources: readonly ClientResource[], all: readonly ClientResource[]): string {
  const imports = resources.map(({ className, file }) => `import { ${className} } from './${file}.ts';`);
  const exports = all.map((resource) => `export type * from './${resource.file}.ts';`);
  const fields = resources.map(({ property, className, description }) => {
    return `${comment(description)}readonly ${property}: ${className};`;
  });
  const assignments = resources.map(({ property, className }) => `this.${property} = new ${className}(transport);`);
  return `${HEAD}
import type { Transport } from '../transport.ts';
${imports.sort().join('\n')}

${exports.sort().join('\n')}

/** Every resource of the API. */
export class Resources {
${fields.join('\n')}

constructor(transport: Transport) {
${assignments.join('\n')}
}
}
`;
}

/**
 * With the project's own formatter, so that the checked-in files pass its check; in a copy, because --check must not
 * write.
 */
async function format(texts: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const copy = await mkdtemp(join(tmpdir(), 'postern-generate-'));
  try {
    for (const [file, code] of texts) await writeFile(join(copy, file), code);
    const biome = join(root, 'node_modules', '.bin', 'biome');
    await run(biome, ['check', '--write', `--config-path=${join(root, 'biome.json')}`, '--vcs-enabled=false', '.'], {
      cwd: copy,
    });
    const formatted = new Map<string, string>();
    for (const file of texts.keys()) formatted.set(`${FOLDER}/${file}`, await readFile(join(copy, file), 'utf8'));
    return formatted;
  } finally {
    await rm(copy, { recursive: true });
  }
}
