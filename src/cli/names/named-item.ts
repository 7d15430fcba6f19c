import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { hostOf } from '../../lib/net/host-name.ts';

/** Something with an id that a command can name. */
export interface NamedItem {
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

export function namedItem(item: JsonObject): NamedItem | null {
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

export function isNamed({ names }: NamedItem, wanted: string): boolean {
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
