import type { Static, TNull, TObject, TProperties, TSchema } from 'typebox';
import Type from 'typebox';
import type { BackendSettings } from '../../backends/backend.ts';
import type { ListenerSettings, Passing } from '../../edges/edge-kind.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { OtherNames } from '../../kit/schema/other-names.ts';
import type { ModuleSettings } from '../../modules/module-settings.ts';
import type { EndedPerson } from '../../store/identity-store.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { OutboxEvent, RecordKey, RecordPut, StoredRecord, UniqueKey } from '../../store/store.ts';
import type { PersonalMail } from '../identity/contracts.ts';
import type { MissingScope } from './errors.ts';
import type { EventType, Operation, Principal } from './operation.ts';

/**
 * A resource's contract: one folder per API noun and one line in `registry.ts`. A configuration resource is described
 * by data; its five operations, storage, references, events, documentation, command line and client follow from it. A
 * live resource (tunnels, logins, deliveries) defines its own operations.
 */
export type Resource<Ports = never> = ConfigurationResource<TObject, Ports> | LiveResource<Ports>;

/** What all of these resources together ask of the process that serves them. */
export type PortsOf<Some extends Resource> = [Some] extends [Resource<infer Ports>] ? Ports : never;

interface ResourceNames {
  /** The folder's name. */
  readonly name: string;
  /** Kind of its records, and the prefix of its error details. */
  readonly kind: string;
  readonly idPrefix: string;
  /** Path of the collection; `{edge_id}` and the like are path parameters. */
  readonly path: string;
  readonly listKey: string;
  /** The object's name in a sentence: "an HTTPS edge". */
  readonly title: string;
  readonly description: string;
}

export interface LiveResource<in Ports = never> extends ResourceNames {
  readonly type: 'live';
  readonly operations: readonly Operation<Ports>[];
}

export interface ConfigurationResource<Config extends TObject = TObject, in Ports = never> extends ResourceNames {
  readonly type: 'configuration';
  /** The stored form: every field present, defaults as `default`. */
  readonly config: Config;
  /** Field names used by clients of the retired service, accepted in bodies. */
  readonly otherNames?: OtherNames;
  /** Fields that PATCH does not accept. */
  readonly immutable?: readonly Extract<keyof Static<Config>, string>[];
  /** Read-only fields, computed when the resource is created and stored with it. */
  readonly derived?: TProperties;
  /** Read-only fields computed at read time; they do not count for the ETag. */
  readonly live?: LiveFields<Ports>;
  /** Once deleted it stays deleted, because it is a credential: undoing a change does not bring it back. */
  readonly isNeverRestored?: true;
  /** Kinds of records below it that the server keeps by itself, such as its last use: an undo does not restore them. */
  readonly derivedKinds?: readonly string[];
  /** Fields that only the response to the create shows. */
  readonly shownOnce?: TProperties;
  /** The record that this one belongs to and is deleted with: by path parameter, or by a field of the configuration. */
  readonly parent?: ParentLink;
  /** What passes the modules that are inline in it; absent: it has none. */
  readonly passes?: readonly Passing[];
  /** Child resources that are rendered completely inside this one, under their list key. */
  readonly inlineChildren?: readonly string[];
  /** The object's host names have certificates, whose problems a response header reports. */
  readonly hasHostNames?: true;
  /** The series count requests by its ids: its list can be ordered by the traffic of the last hour. */
  readonly hasTraffic?: true;
  /** Responses may have the header Postern-Warning for another reason than host names. */
  readonly hasWarnings?: boolean;
  /** `<noun>_created.v0` and so on. */
  readonly eventNoun: string;
  /** Events of its actions beside these three: the verb, as in `<noun>_<verb>.v0`, and a sentence. */
  readonly otherEvents?: Readonly<Record<string, string>>;
  readonly example: JsonObject;
  /** `onCreate` reads the records that the configuration refers to. */
  readonly readsReferences?: true;
  /** References must not form a cycle. */
  readonly isAcyclic?: boolean;
  /** Unique-key scopes that must keep at least one holder. */
  readonly keepAtLeastOne?: readonly string[];
  readonly actions?: readonly Operation<Ports>[];
  /** Normalizes equal configurations to one form, before `check`. */
  normalize?(config: Static<Config>): Static<Config>;
  check?(config: Static<Config>, settings: ResourceSettings): readonly FieldProblem[];
  /** Restrictions on changes to an existing configuration. */
  checkChange?(config: Static<Config>, previous: Static<Config>): readonly FieldProblem[];
  /** Rules about the resource together with those that it refers to, directly or not, as they are after the write. */
  checkReferred?(id: string, read: ReferredReader): readonly FieldProblem[];
  /** A conflict with the current state, as a message: 409. `previous` is null for a create. */
  conflict?(config: Static<Config>, previous: Static<Config> | null, settings: ResourceSettings): string | null;
  /** Computes derived fields and issues tokens. Problems reject the create. */
  onCreate?(config: Static<Config>, ports: CreatePorts): Created | Promise<Created>;
  /** Computes derived fields again after a change of the configuration. Problems reject the change. */
  onChange?(
    config: Static<Config>,
    previous: Static<Config>,
    settings: ResourceSettings,
    nowMs: number,
  ): Pick<Creation, 'config' | 'derived'> | { readonly problems: readonly FieldProblem[] };
  /** `extra` contains created_at, derived and internal fields. */
  uniqueKeys?(
    config: Static<Config>,
    owner: { readonly id: string; readonly parent: string | null },
    extra: JsonObject,
  ): readonly ClaimedKey[];
  /** Rejects what the caller's key may not do with this configuration; `previous` is null on create. */
  authorize?(
    principal: Principal,
    config: Static<Config> | null,
    previous: Static<Config> | null,
    about: Authorization,
  ): MissingScope | null;
  /** The same for changes, with data only in the store. Runs before `authorize`, which decides last. */
  readonly authorizeChange?: (
    change: { readonly principal: Principal; readonly config: Static<Config>; readonly previous: Static<Config> },
    id: string,
    ports: Ports,
  ) => Promise<MissingScope | null>;
  /**
   * Whether the change lets more data flow, or to another place. It is refused while the revert of a pending change
   * would decide what flows where.
   */
  isArming?(config: Static<Config>, previous: Static<Config> | null): boolean;
  /**
   * Where requests that are forwarded to it go on to, with their secret headers: resources, and places by a name of
   * their own.
   */
  sendsTo?(config: Static<Config>): { readonly ids: readonly string[]; readonly places: readonly string[] };
  /** What else ends with the change, in its transaction: also when an undo makes it. `config` is null on delete. */
  ends?(config: Static<Config> | null, previous: Static<Config>, about: Ending): Pick<Beside, 'deletes' | 'endsPeople'>;
  /**
   * Whether the change only takes rights away; `config` is null on delete. A pending change does not hold it off. Asked
   * only if all other fields than `narrowable`, description and metadata stay as they are.
   */
  isRevocation?(config: Static<Config> | null, previous: Static<Config>): boolean;
  /** Fields whose change can take rights away. */
  readonly narrowable?: readonly string[];
  /** Schema of the fields whose form `render` changes. */
  readonly rendered?: TProperties;
  /** Final adjustment of the read form. */
  render?(body: JsonObject): JsonObject;
  /** Cleans up after the deletion is durable. */
  readonly afterDelete?: (record: StoredRecord, ports: Ports) => Promise<void>;
}

/** Null: it does not exist. */
export type ReferredReader = (id: string) => { readonly kind: string; readonly doc: JsonObject } | null;

/** A value that only one record may hold. */
export interface ClaimedKey extends UniqueKey {
  /** The field that holds it; absent when the client did not choose it. */
  readonly field?: string;
}

type ParentLink = { readonly kind: string; readonly param: string } | { readonly kind: string; readonly field: string };

export interface LiveFields<in Ports> {
  readonly schema: TProperties;
  readonly read: (records: readonly StoredRecord[], ports: Ports) => Promise<ReadonlyMap<string, JsonObject>>;
}

export interface CreatePorts {
  /** Id of the new resource. */
  readonly id: string;
  readonly principal: Principal;
  readonly settings: ResourceSettings;
  readonly nowMs: number;
  /** With everything that the new one refers to, if the resource `readsReferences`. */
  readonly reader: RecordReader;
  /** 256 random bits after a prefix that names the token's purpose. */
  newToken(prefix: string): string;
  /** HMAC-SHA256, in hex, under a separate key per purpose. */
  mac(purpose: string, data: string): string;
}

export type Created = Creation | { readonly problems: readonly FieldProblem[] };

export interface Creation {
  readonly derived?: JsonObject;
  /** Stored with the resource and never shown. */
  readonly internal?: JsonObject;
  /** Configuration generated because the client omitted it, such as a webhook's secret. */
  readonly config?: JsonObject;
  readonly shownOnce?: JsonObject;
  readonly beside?: Beside;
}

/** Written in the transaction of a resource's change, beside it. */
export interface Beside {
  readonly puts?: readonly RecordPut[];
  readonly deletes?: readonly RecordKey[];
  readonly events?: readonly OutboxEvent[];
  readonly endsPeople?: readonly EndedPerson[];
}

/** What is known about a change that may end something. */
interface Ending {
  readonly id: string;
  readonly reader: RecordReader;
  readonly settings: ResourceSettings;
}

/** Context of a permission check beside the configuration. */
interface Authorization {
  /** Null on create. */
  readonly id: string | null;
  readonly reader: RecordReader;
  readonly settings: ResourceSettings;
  readonly eventTypes: readonly EventType[];
}

export interface ResourceSettings extends BackendSettings, ListenerSettings {
  /** Values of the modules' own settings, for their checks. */
  readonly moduleSettings: ModuleSettings;
  /** Where TLS certificates may name files. */
  readonly certificateFileDirs: readonly string[];
  readonly region: string;
  readonly domain: string;
  /** Every scope that an API key can have. */
  readonly scopes: readonly string[];
  readonly eventTypes: readonly string[];
  /** Null: identity is off. */
  readonly identity: IdentityFacts | null;
  /** The line for an agent with this secret. `gateway` null: the address at which agents usually dial. */
  inviteAgent(gateway: string | null, secret: string): Promise<AgentInvitationLine | { readonly problem: string }>;
  /** Scopes of the console role that a person with these claims gets at the identity host; none without a role. */
  consoleScopesOf(claims: JsonObject): readonly string[];
}

interface AgentInvitationLine {
  readonly line: string;
  /** `host:port` in it. */
  readonly gateway: string;
  /** Null: the gateway's certificate is not from the internal CA. */
  readonly caSha256: string | null;
}

/** What the settings say about the identity host. */
export interface IdentityFacts {
  readonly hostname: string;
  readonly issuer: string;
  readonly invitationMs: number;
  /** The record of a mail, for the transaction that it belongs to. Null: mail is off, or too many mails wait. */
  mail(mail: PersonalMail): RecordPut | null;
}

export function defineResource<Config extends TObject, Ports = unknown>(
  resource: Omit<ConfigurationResource<Config, Ports>, 'type'>,
): ConfigurationResource<TObject, Ports> {
  return { type: 'configuration', ...resource } as unknown as ConfigurationResource<TObject, Ports>;
}

export const MAX_METADATA_BYTES = 4096;

/** Fields that every configuration resource has. */
export const describedFields = {
  description: Type.String({
    default: '',
    maxLength: 255,
    description: 'Free text for your own use; at most 255 characters.',
  }),
  metadata: Type.String({
    default: '',
    maxLength: MAX_METADATA_BYTES,
    description: 'Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it.',
  }),
} satisfies TProperties;

/** Every page about the API says once that times are in RFC 3339, in UTC. */
export const timestamp = (description: string): TSchema => Type.String({ format: 'date-time', description });

/** Existing clients read it without checking that it exists. */
export const ownerId: TNull = Type.Null({ description: 'Always null: resources have no owner.' });
