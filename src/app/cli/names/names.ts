import { fillPath } from '../../../client/fill-path.ts';
import { SITE_EDGE, SITE_ROUTE } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { hostOf } from '../../../kit/net/host-name.ts';
import { kebab, listItems, resourceName } from '../api/api-resources.ts';
import { type OperationDescription, operationList } from '../api/operation-list.ts';
import { sendForAll } from '../api/send-request.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';

/** Something with an id that a command can name. */
interface NamedItem {
  readonly id: string;
  /** Id of the edge of a route. */
  readonly edgeId?: string;
  /** Everything that names it; the first is the one to show. */
  readonly names: readonly string[];
}

/** Fields that name an item, by what people call it: host, path, address, then the description. */
const NAME_FIELDS = [
  'hostports',
  'hostname',
  'domain',
  'match',
  'name',
  'label',
  'public_url',
  'address',
  'cidr',
  'email',
  'username',
  'subject_common_name',
  'description',
];

function namedItem(item: JsonObject): NamedItem | null {
  const { id } = item;
  if (typeof id !== 'string') return null;
  const names = NAME_FIELDS.flatMap((field) => textsIn(item[field]).flatMap((text) => formsOf(field, text)));
  return { id, names: [...new Set(names)] };
}

/** The routes of an edge, each as `host/path`. */
export function namedRoutes(edge: JsonObject): readonly NamedItem[] {
  const hosts = [...new Set(textsIn(edge['hostports']).map(hostOf))];
  const { id: edgeId } = edge;
  if (typeof edgeId !== 'string') return [];
  const routes = Array.isArray(edge['routes']) ? (edge['routes'] as readonly JsonValue[]) : [];
  return routes.filter(isJsonObject).flatMap(({ id, match, description }): readonly NamedItem[] => {
    if (typeof id !== 'string' || typeof match !== 'string') return [];
    const names = [...hosts.map((host) => `${host}${match}`), ...textsIn(description)];
    return [{ id, edgeId, names }];
  });
}

function isNamed({ names }: NamedItem, wanted: string): boolean {
  // Host names ignore case; paths and descriptions do not.
  return names.includes(wanted) || (isHostLike(wanted) && names.includes(wanted.toLowerCase()));
}

function formsOf(field: string, text: string): readonly string[] {
  return field === 'hostports' ? [hostOf(text), text] : [text];
}

function isHostLike(text: string): boolean {
  return /^[\w*-]+(\.[\w-]+)+(:\d+)?$/.test(text);
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  const values = Array.isArray(value) ? value : [value];
  return values.filter((each): each is string => typeof each === 'string' && each !== '');
}

/** An id is a prefix and 27 letters and digits. It is never taken for a name. */
export function isId(text: string): boolean {
  return /^[a-z]+_[0-9A-Za-z]{27}$/.test(text);
}

/** A list of the API whose items have ids. */
export interface Collection {
  /** As references name it: `https_edge`. */
  readonly kind: string;
  /** With parameters: `/edges/https/{edge_id}/routes`. */
  readonly path: string;
  readonly listKey: string;
  /** Pattern of its ids. */
  readonly idPattern: string | null;
  /** Whether its items are created by the API, not by agents or traffic. */
  readonly isConfigured: boolean;
  /** Whether the list has the parameter q. */
  readonly isSearchable: boolean;
}

export function collectionsOf(operations: readonly OperationDescription[]): readonly Collection[] {
  const created = new Set(operations.filter(({ verb }) => verb === 'create').map(({ path }) => path));
  return operations.flatMap((operation): readonly Collection[] => {
    const list = listItems(operation);
    if (list === null) return [];
    const { before_id: cursor } = (operation.query?.properties ?? {}) as Record<string, { readonly pattern?: string }>;
    return [
      {
        kind: singular(resourceName(operation)),
        path: operation.path,
        listKey: list.key,
        idPattern: cursor?.pattern ?? null,
        isConfigured: cursor !== undefined && created.has(operation.path),
        isSearchable: operation.query?.properties['q'] !== undefined,
      },
    ];
  });
}

/** For messages: `HTTPS edge` is `https edge`. */
function kindText(kind: string): string {
  return kebab(kind).replaceAll('-', ' ');
}

function singular(resource: string): string {
  return resource.endsWith('ies') ? `${resource.slice(0, -3)}y` : resource.replace(/s$/, '');
}

const MAX_CANDIDATES = 10;
const PAGE = 100;

interface FoundRoute {
  readonly edgeId: string;
  readonly routeId: string;
}

/** Finds ids by names for one command. An id is returned as it is, without a request. */
export class Names {
  readonly #transport: Transport;
  readonly #context: CommandContext;
  readonly #collections: readonly Collection[] = collectionsOf(operationList());
  /** Several references of one command may need the same list. */
  readonly #lists = new Map<string, Promise<readonly JsonObject[]>>();

  constructor(transport: Transport, context: CommandContext) {
    this.#transport = transport;
    this.#context = context;
  }

  /**
   * The id of an object in the collection at this path. A name that nothing has is returned as it is: the API rejects
   * it.
   */
  async idIn(path: string, name: string, params: Readonly<Record<string, string>> = {}): Promise<string> {
    const collection = this.#collections.find((each) => each.path === path && each.listKey !== 'sources');
    if (isId(name) || collection === undefined) return name;
    const items = (await this.#read(collection, params)).map(namedItem);
    const what = kindText(collection.kind);
    const found = this.#only(name, what, items) ?? this.#only(name, what, await this.#routesOf(collection, params));
    return found?.id ?? name;
  }

  /** The id of an object of one of these kinds. */
  async idOfKinds(kinds: readonly string[], name: string): Promise<string> {
    if (isId(name)) return name;
    const found: (NamedItem | null)[] = [];
    for (const collection of this.#collections.filter(({ kind }) => kinds.includes(kind))) {
      if (collection.kind === SITE_ROUTE.kind) found.push(...(await this.#routes()));
      else found.push(...(await this.#read(collection)).map(namedItem));
    }
    return this.#only(name, kinds.length === 1 ? kindText(kinds[0] ?? '') : 'object', found)?.id ?? name;
  }

  /** The id of any configured object. */
  async idOfAny(name: string): Promise<string> {
    const kinds = this.#collections.filter(({ isConfigured }) => isConfigured).map(({ kind }) => kind);
    return this.idOfKinds(kinds, name);
  }

  /** The id that matches this pattern, which a filter of a list has. */
  async idOfPattern(pattern: string, name: string): Promise<string> {
    const collection = this.#collections.find(({ idPattern }) => idPattern === pattern);
    return collection === undefined ? name : this.idIn(collection.path, name);
  }

  /** A route by `host/path` or its description. Null when there is none. */
  async route(name: string): Promise<FoundRoute | null> {
    const found = this.#only(name, 'route', await this.#routes());
    return found?.edgeId === undefined ? null : { edgeId: found.edgeId, routeId: found.id };
  }

  async #routes(): Promise<readonly NamedItem[]> {
    const edges = this.#collections.find(({ kind }) => kind === SITE_EDGE.kind);
    return edges === undefined ? [] : (await this.#read(edges)).flatMap(namedRoutes);
  }

  /** The routes of an edge that is given beside them: `host/path` names them too. */
  async #routesOf({ kind }: Collection, params: Readonly<Record<string, string>>): Promise<readonly NamedItem[]> {
    if (kind !== SITE_ROUTE.kind) return [];
    return (await this.#routes()).filter(({ edgeId }) => edgeId === params['edge_id']);
  }

  #read({ path, listKey }: Collection, params: Readonly<Record<string, string>> = {}): Promise<readonly JsonObject[]> {
    const filled = fillPath(path, params);
    const known = this.#lists.get(filled);
    if (known !== undefined) return known;
    const read = sendForAll(this.#transport, { method: 'GET', path: `${filled}?limit=${PAGE}` }, listKey).then(
      ({ body }) => (body?.[listKey] ?? []) as readonly JsonObject[],
    );
    this.#lists.set(filled, read);
    return read;
  }

  /** Lists the candidates and gives up when the name is not unique: nothing is done to the wrong object. */
  #only(name: string, what: string, items: readonly (NamedItem | null)[]): NamedItem | null {
    const found = items.filter((item) => item !== null).filter((item) => isNamed(item, name));
    if (found.length <= 1) return found[0] ?? null;
    for (const { id, names } of found.slice(0, MAX_CANDIDATES)) this.#context.warn(`  ${id}  ${shown(names)}`);
    if (found.length > MAX_CANDIDATES) this.#context.warn(`  and ${found.length - MAX_CANDIDATES} more`);
    throw usage(
      `"${printable(name)}" names ${found.length} ${what.replace(/y$/, 'ie')}s: nothing was done. Use one of the ids above`,
    );
  }
}

function shown(names: readonly string[]): string {
  return names.map(printable).join(', ');
}
