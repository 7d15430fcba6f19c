import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { yamlText } from '../../kit/text/yaml/yaml-text.ts';
import { type FormPorts, fileFieldName, fileForm } from './file-form.ts';
import { FORMAT_VERSION, SCHEMA_FILE } from './format.ts';
import { type InstallationDocuments, type InstalledObject, installedObjects } from './installed-objects.ts';
import { impliedBy } from './object-names.ts';
import { type ObjectKind, type Section, sections } from './sections.ts';
import { comparableForm, type ReadSecret, storedForm } from './stored-form.ts';

/** Names of environment variables for secrets, each used once. */
class SecretNames {
  readonly #used = new Set<string>();

  referenceFor(parts: readonly string[]): string {
    const words = parts
      .join('_')
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '');
    const base = `${/^[0-9]/.test(words) ? '_' : ''}${words.slice(0, 120) || 'SECRET'}`;
    let name = base;
    for (let number = 2; this.#used.has(name); number += 1) name = `${base}_${number}`;
    this.#used.add(name);
    return `$\{env:${name}}`;
  }
}

interface UnknownField {
  readonly path: readonly string[];
  readonly why: string;
}

const WHY = 'Postern has no such field';
/** Read-only fields of every document. */
const COMMON = ['id', 'uri', 'created_at'];

/** Fields of a document that no schema has, as documents of another service may have. Empty ones say nothing. */
function unknownFields(kind: ObjectKind, document: JsonObject): readonly UnknownField[] {
  const { resource, modules, children } = kind;
  const own = new Set([
    ...COMMON,
    ...knownIn(resource.config.properties),
    ...Object.keys({ ...resource.derived, ...resource.live?.schema, ...resource.shownOnce, ...resource.rendered }),
    ...(resource.parent !== undefined && 'param' in resource.parent ? [resource.parent.param] : []),
    ...(resource.otherNames?.ignoredIfEmpty ?? []),
    ...modules.map(({ name }) => name),
    ...children.keys(),
  ]);
  const inModules = modules.flatMap(({ name, config, constants, live }) => {
    const value = document[name];
    if (!isJsonObject(value)) return [];
    const known = new Set([...knownIn(config.properties), ...Object.keys({ ...constants?.values, ...live?.schema })]);
    return fieldsBeside(known, value).map((field) => ({ path: [name, field], why: WHY }));
  });
  return [...fieldsBeside(own, document).map((field) => ({ path: [field], why: WHY })), ...inModules];
}

function knownIn(properties: ObjectKind['resource']['config']['properties']): readonly string[] {
  return Object.entries(properties).flatMap(([name, field]) => [name, fileFieldName(name, field)]);
}

function fieldsBeside(known: ReadonlySet<string>, document: JsonObject): readonly string[] {
  return Object.entries(document).flatMap(([name, value]) => (known.has(name) || isEmpty(value) ? [] : [name]));
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === '' || value === false || (isJsonObject(value) && Object.keys(value).length === 0);
}

interface WrittenFile {
  /** YAML; its first line refers to the schema. */
  readonly text: string;
  readonly secrets: readonly { readonly place: string; readonly reference: string }[];
  readonly omitted: readonly { readonly place: string; readonly why: string }[];
}

interface WriteOptions {
  readonly owner?: string;
  /** Comment lines after the first one. */
  readonly header?: readonly string[];
}

/** The configuration of an installation as a file. */
export function writeConfigurationFile(documents: InstallationDocuments, options: WriteOptions = {}): WrittenFile {
  const objects = installedObjects(documents);
  return new FileWriter(objects).write(options);
}

class FileWriter {
  readonly #objects: ReadonlyMap<string, readonly InstalledObject[]>;
  readonly #names = new Map<string, string>();
  readonly #secretNames = new SecretNames();
  readonly #secrets: { place: string; reference: string }[] = [];
  readonly #omitted: { place: string; why: string }[] = [];

  constructor(objects: ReadonlyMap<string, readonly InstalledObject[]>) {
    this.#objects = objects;
    for (const { id, name } of [...objects.values()].flat()) this.#names.set(id, name);
  }

  write({ owner, header = [] }: WriteOptions): WrittenFile {
    const head: JsonObject = { version: FORMAT_VERSION, ...(owner !== undefined && { owner }) };
    const body = sections.flatMap((section) => {
      const entries = this.#entries(section, this.#objects.get(section.key) ?? [], [section.key]);
      // One by one: a map would put names that are numbers first.
      const objects = entries.map(([name, object]) => yamlText({ [name]: object }, '  '));
      return entries.length === 0 ? [] : [`${section.key}:\n${objects.join('')}`];
    });
    const comments = [`yaml-language-server: $schema=${SCHEMA_FILE}`, ...header];
    const lines = comments.map((comment) => `# ${comment.replaceAll(/[\r\n\u0085\u2028\u2029]+/g, ' ')}\n`).join('');
    const text = [yamlText(head), ...body].join('\n');
    return { text: `${lines}${text}`, secrets: this.#secrets, omitted: this.#omitted };
  }

  #entries(
    { kinds }: Pick<Section, 'kinds'>,
    objects: readonly InstalledObject[],
    place: readonly string[],
  ): [string, JsonObject][] {
    return objects.map((object) => {
      const label = kinds.length > 1 ? { kind: object.kind.label } : {};
      return [object.name, { ...label, ...this.#object(object, [...place, object.name]) }];
    });
  }

  #object(object: InstalledObject, place: readonly string[]): JsonObject {
    const { kind, document, name } = object;
    const form = comparableForm(kind, storedForm(kind.resource.config, document));
    const config = this.#form(kind.resource.config, form, place);
    const implied = impliedBy(kind, name, form.config);
    const own = Object.entries(form.config).reduce<Record<string, JsonValue>>(
      (result, [field, value]) => {
        if (!Object.hasOwn(implied, field)) return result;
        // The key says it, or something else that the field must contradict.
        if (isDeepStrictEqual(implied[field], value)) delete result[field];
        else result[field] = value;
        return result;
      },
      { ...config },
    );
    for (const { path, why } of unknownFields(kind, document)) this.#omit([...place, ...path], why);
    for (const module of kind.modules) {
      const value = document[module.name];
      if (!isJsonObject(value)) continue;
      own[module.name] = this.#form(module.config, storedForm(module.config, value), [...place, module.name]);
    }
    for (const [field, child] of kind.children) {
      const children = object.children.filter((each) => each.kind === child);
      const entries = this.#entries({ kinds: [child] }, children, [...place, field]);
      if (entries.length > 0) own[field] = Object.fromEntries(entries);
    }
    return own;
  }

  #form(
    schema: Parameters<typeof fileForm>[0],
    { config, secrets }: { readonly config: JsonObject; readonly secrets: ReadonlyMap<string, ReadSecret> },
    place: readonly string[],
  ): JsonObject {
    const ports: FormPorts = {
      nameOf: (id) => this.#names.get(id) ?? null,
      secretText: (pointer, secret) => this.#secretText([...place, ...pointer.split('/').slice(1)], secret),
      omit: (path, why) => this.#omit([...place, ...path], why),
    };
    return fileForm(schema, config, secrets, ports);
  }

  /** Never the secret itself. */
  #secretText(place: readonly string[], secret: ReadSecret): JsonValue | undefined {
    if (secret.state === 'unset') return undefined;
    const shown = secret.state === 'known' ? secret.value : secret.shown;
    if (!isJsonObject(shown)) return this.#reference(place);
    return Object.fromEntries(Object.keys(shown).map((name) => [name, this.#reference([...place, name])]));
  }

  #reference(place: readonly string[]): string {
    // The section and the names of containers add length and say nothing.
    const words = place.slice(1).filter((word) => !['routes', 'target', '/'].includes(word));
    const reference = this.#secretNames.referenceFor(words);
    this.#secrets.push({ place: placeText(place), reference });
    return reference;
  }

  #omit(place: readonly string[], why: string): void {
    this.#omitted.push({ place: placeText(place), why });
  }
}

function placeText(place: readonly string[]): string {
  return place.join(' > ');
}
