import type { Module } from '../../modules/contract/module.ts';
import { worksWhere } from '../../modules/module-config.ts';
import { modules } from '../../modules/registry.ts';
import { resources } from '../resources/registry.ts';
import type { ConfigurationResource } from '../resources/resource.ts';

/**
 * Configuration resources that the file does not have, by their name, and why. A test compares it with the registry.
 */
export const NOT_EXPORTED: ReadonlyMap<string, string> = new Map([
  [
    'agent_invitations',
    'An invitation is a secret for one agent and ends after ten minutes. Use "postern agents invite".',
  ],
  ['api_keys', 'A key is shown once and stored as a hash. Create keys with "postern api api-keys create".'],
  ['credentials', 'A credential is shown once and stored as a hash. Create one for each agent.'],
  ['guest_links', 'A link is a secret that expires and is shown once. Create links when they are needed.'],
  ['oidc_clients', 'A client secret is shown once and stored as a hash. Create clients when they are needed.'],
  ['service_account_tokens', 'A token is shown once and stored as a hash. The service accounts are in the file.'],
  [
    'user_accounts',
    'People register passkeys that no file has. A file must neither delete them nor make invitations. Use "postern users".',
  ],
]);

/** A kind of object in the file, as the registries describe it. */
export interface ObjectKind {
  readonly resource: ConfigurationResource;
  /** The section's name in the file: `static` among the backends, otherwise the kind of its records. */
  readonly label: string;
  /** Where a list of the API's documents holds it: see `InstallationDocuments`. */
  readonly documentsKey: string;
  readonly modules: readonly Module[];
  /** Kinds of objects inside it, such as the routes of an edge, by the field that holds them. */
  readonly children: ReadonlyMap<string, ObjectKind>;
}

/** A top-level key of the file. Several kinds share it if their lists have the same key, as those of backends do. */
export interface Section {
  readonly key: string;
  readonly kinds: readonly ObjectKind[];
}

const exported = resources
  .filter((resource) => resource.type === 'configuration')
  .filter(({ name }) => !NOT_EXPORTED.has(name));

export const sections: readonly Section[] = sectionsOf(exported.filter((resource) => resource.parent === undefined));

const kindsByName = new Map(
  sections.flatMap(({ kinds }) =>
    kinds.flatMap((kind) => [kind, ...kind.children.values()].map((each) => [each.resource.kind, each] as const)),
  ),
);

/** Undefined for a kind that is not in the file. */
export function objectKind(recordKind: string): ObjectKind | undefined {
  return kindsByName.get(recordKind);
}

/** The key of the section where objects of a kind are. */
export function sectionOf(recordKind: string): string | undefined {
  return sections.find(({ kinds }) => kinds.some(({ resource }) => resource.kind === recordKind))?.key;
}

function sectionsOf(resourcesOfFile: readonly ConfigurationResource[]): readonly Section[] {
  const byKey = Map.groupBy(resourcesOfFile, ({ listKey }) => listKey);
  return [...byKey].map(([key, members]) => ({ key, kinds: members.map((each) => kindOf(each, members.length > 1)) }));
}

function kindOf(resource: ConfigurationResource, isShared: boolean): ObjectKind {
  const children = exported.filter(({ parent }) => parent?.kind === resource.kind);
  return {
    resource,
    label: isShared ? resource.name : resource.kind,
    documentsKey: isShared ? `${resource.kind}s` : resource.listKey,
    modules: modules.filter((module) => worksWhere(module, resource.passes ?? [])),
    children: new Map(children.map((child) => [childField(child), kindOf(child, false)])),
  };
}

/** `routes` of an edge; `rules` of an IP policy, whose list is `ip_policy_rules`. */
function childField({ listKey, parent }: ConfigurationResource): string {
  const prefix = `${parent?.kind}_`;
  return listKey.startsWith(prefix) ? listKey.slice(prefix.length) : listKey;
}

/** The kinds that the API lists on their own: children in a path are inside their parents. */
export function listedKinds(isNeeded: (section: string) => boolean): readonly ObjectKind[] {
  return sections
    .filter(({ key }) => isNeeded(key))
    .flatMap(({ kinds }) =>
      kinds.flatMap((kind) => [
        kind,
        ...[...kind.children.values()].filter(({ resource }) => !resource.path.includes('{')),
      ]),
    );
}
