import type { TObject } from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { YamlMap } from '../../kit/text/yaml/plain-yaml.ts';
import type { Module } from '../../modules/contract/module.ts';
import { moduleProblems, normalized } from '../../modules/module-config.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import { MAX_METADATA_BYTES, type ResourceSettings } from '../resources/resource.ts';
import type { FileConfig, FileObject, NameIndex, PlacedEntry } from './file-object.ts';
import { type FileProblem, quoted } from './format.ts';
import { impliedBy } from './object-names.ts';
import { type ObjectKind, sectionOf } from './sections.ts';
import { type BodyPorts, type ConfigCheck, checkConfig, shownPath, type WireBody, wireBody } from './wire-body.ts';

/** Settings that reject nothing: only the server knows its own. */
function offlineSettings(config: JsonObject): ResourceSettings {
  return {
    moduleSettings: new Map(),
    edgePorts: null,
    tunnelNamesUnder: () => [],
    certificateFileDirs: [],
    fileRoots: null,
    dataDir: '',
    region: '',
    domain: '',
    scopes: [],
    // Event types are known to the server, which may be of another version.
    eventTypes: eventTypesIn(config),
    identity: null,
    consoleScopesOf: () => [],
    inviteAgent: () => Promise.resolve({ problem: 'needs a server' }),
  };
}

function eventTypesIn({ sources }: JsonObject): readonly string[] {
  return Array.isArray(sources) ? (sources as readonly { readonly type: string }[]).map(({ type }) => type) : [];
}

interface Context {
  readonly entry: PlacedEntry;
  /** Names around it, for messages. */
  readonly at: readonly string[];
}

/** Reads one object of the files after the other, with its modules and children. */
export class ObjectReader {
  readonly #index: NameIndex;
  readonly #problems: FileProblem[];

  constructor(index: NameIndex, problems: FileProblem[]) {
    this.#index = index;
    this.#problems = problems;
  }

  /** Null after a problem was recorded. */
  read(entry: PlacedEntry, around: readonly string[] = [sectionOf(entry.kind.resource.kind) ?? '']): FileObject | null {
    const before = this.#problems.length;
    const { kind, map } = entry;
    const context: Context = { entry, at: [...around, quoted(entry.name)] };
    const { resource, children, modules } = kind;
    const parentField = resource.parent !== undefined && 'field' in resource.parent ? resource.parent.field : null;
    const schema = parentField === null ? resource.config : withoutField(resource.config, parentField);
    const beside = [...(entry.isKindNamed ? ['kind'] : []), ...modules.map(({ name }) => name), ...children.keys()];
    const written = wireBody(schema, map, this.#bodyPorts(context, []), beside);
    const body = { ...written, body: { ...impliedBy(kind, entry.name, written.body), ...written.body } };
    const own = this.#config(context, [], schema, body, {
      normalize: (config) => (resource.normalize?.(config as never) ?? config) as JsonObject,
      check: (config) => [
        ...metadataProblems(config),
        ...(resource.check?.(config as never, offlineSettings(config)) ?? []),
      ],
    });
    const readModules = this.#modules(context, modules, map);
    const readChildren = [...children].flatMap(([field, child]) => this.#children(context, field, child));
    if (own === null || this.#problems.length > before) return null;
    const { name, id, file, line } = entry;
    return { ...own, kind, name, id, file, line, modules: readModules, children: readChildren };
  }

  #modules(context: Context, modules: readonly Module[], { entries }: YamlMap): ReadonlyMap<string, FileConfig> {
    const found = new Map<string, FileConfig>();
    for (const module of modules) {
      const entry = entries.get(module.name);
      if (entry === undefined) continue;
      const path = [module.name];
      if (entry.node.type !== 'map') {
        this.#problem(context, entry.line, path, 'must be a map: write {} for its defaults, or remove the line');
        continue;
      }
      const body = wireBody(module.config, entry.node, this.#bodyPorts(context, path));
      // Whether settings of the server allow a value is not known here.
      const shared = module.shared?.some((each) => (each.settings ?? each.readsSettings) !== undefined);
      const hasSettings = module.settings !== undefined || shared === true;
      const config = this.#config(
        context,
        path,
        module.config,
        body,
        {
          check: (decoded) =>
            hasSettings ? [] : moduleProblems(module, decoded, { settings: settingsOf(new Map(), module) as never }),
          finish: (checked) => normalized(module, checked),
        },
        entry.line,
      );
      if (config !== null) found.set(module.name, config);
    }
    const logins = modules.filter((module) => module.isLogin === true && found.has(module.name));
    const [first, second] = logins;
    if (first !== undefined && second !== undefined) {
      const line = entries.get(second.name)?.line ?? context.entry.line;
      this.#problem(
        context,
        line,
        [second.name],
        `cannot be combined with ${first.name}: a route has one login module`,
      );
    }
    return found;
  }

  #children({ entry, at }: Context, field: string, kind: ObjectKind): readonly FileObject[] {
    const given = entry.map.entries.get(field);
    if (given === undefined) return [];
    if (given.node.type !== 'map') {
      this.#problem({ entry, at }, given.line, [field], 'must be a map with a name for each object');
      return [];
    }
    return [...given.node.entries].flatMap(([name, { line, node }]) => {
      const isEmpty = node.type === 'scalar' && node.value === null;
      if (node.type !== 'map' && !isEmpty) {
        this.#problem({ entry, at }, line, [field, quoted(name)], 'must be a map with the fields of the object');
        return [];
      }
      const map: YamlMap = node.type === 'map' ? node : { type: 'map', line, entries: new Map() };
      const child: PlacedEntry = {
        kind,
        name,
        id: this.#index.idFor(kind),
        map,
        file: entry.file,
        line,
        isKindNamed: false,
      };
      return this.read(child, [...at, field]) ?? [];
    });
  }

  #config(
    context: Context,
    path: readonly string[],
    schema: TObject,
    body: WireBody,
    rules: Pick<ConfigCheck, 'normalize' | 'check' | 'finish'>,
    line: number = context.entry.line,
  ): FileConfig | null {
    const { config, problems } = checkConfig({ schema, body, ...rules });
    for (const problem of problems) {
      this.#problem(
        context,
        lineOf(problem.path, body, line),
        [...path, ...shownPath(schema, problem.path)],
        problem.message,
      );
    }
    return config === null || problems.length > 0 ? null : { config, secrets: body.secrets };
  }

  #bodyPorts(context: Context, path: readonly string[]): BodyPorts {
    const { file } = context.entry;
    return {
      idOf: (name, annotation, line) => this.#index.find(name, annotation, { file, line }),
      problem: (line, inner, message) => this.#problem(context, line, [...path, ...inner], message),
    };
  }

  #problem({ entry, at }: Context, line: number, path: readonly string[], message: string): void {
    const field = path.length === 0 ? '' : ` > ${path.join('.')}`;
    this.#problems.push({ file: entry.file, line, problem: `${at.join(' > ')}${field} ${message}` });
  }
}

function lineOf(path: string, { lines }: WireBody, otherwise: number): number {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const line = lines.get(at);
    if (line !== undefined) return line;
  }
  return otherwise;
}

function metadataProblems({ metadata }: JsonObject): readonly FieldProblem[] {
  if (typeof metadata !== 'string' || Buffer.byteLength(metadata) <= MAX_METADATA_BYTES) return [];
  return [{ path: '/metadata', message: `must have at most ${MAX_METADATA_BYTES} bytes in UTF-8` }];
}

const withoutParent = new WeakMap<TObject, TObject>();

/** The file says by its place what the field says in the API. */
function withoutField(schema: TObject, field: string): TObject {
  const known = withoutParent.get(schema);
  if (known !== undefined) return known;
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => name !== field));
  const result = {
    ...schema,
    properties,
    required: (schema.required ?? []).filter((name) => name !== field),
  } as TObject;
  withoutParent.set(schema, result);
  return result;
}
