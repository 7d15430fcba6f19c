import type { TObject } from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import type { BareUnit } from '../../kit/text/time.ts';

/** Agents are trusted less than operators. */
export type ConfiguredBy = 'operator' | 'agent';

export type AgentProtocol = 'https' | 'http' | 'tcp' | 'tls';

/** How agents may request a module on their own endpoints. */
export interface AgentAccess {
  /** Plain data: `npm run generate` writes it to the file that the agent's commands read. */
  readonly form: AgentForm;
  /** Fields in the bind message. Absent: those of the module's configuration, decoded like a PUT. */
  readonly schema?: TObject;
  /**
   * Turns a decoded form into the module's configuration and the records that it refers to. Absent: the form is the
   * configuration. `settings`: those of the module.
   */
  accept?(form: JsonObject, endpointId: string, settings: object): AcceptedForm | { readonly problem: string };
}

export interface AcceptedForm {
  readonly config: JsonObject;
  readonly records: readonly AgentRecord[];
}

/** A record that exists only for one tunnel. */
export interface AgentRecord {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly doc: JsonObject;
}

/**
 * Flags, YAML keys, the fields of the bind message and their checks are derived from this and from the schema: see
 * src/app/cli/agent/module-forms.ts for the agent's side and src/proxy/edge/tunnels/endpoint-publisher.ts for the
 * server's.
 */
export interface AgentForm {
  /** Position among the forms, in help and messages. */
  readonly order: number;
  /**
   * Where `postern http --help` shows its flags: among those that say who may enter, or those of a login at another
   * provider, whose flag of `bare` is among the former. Absent: among those that change or limit requests.
   */
  readonly group?: 'entry' | 'provider';
  /** Key of a tunnel in the agent's file. */
  readonly key: string;
  /** Form of the key's value: a map of the fields, the value of the only field, or `true`. */
  readonly shape: 'map' | 'list' | 'switch';
  readonly protocols: readonly AgentProtocol[];
  /** Why a tunnel of another kind cannot have it. Absent: because the edge of a labelled tunnel decides. */
  readonly unsupportedReason?: string;
  /** Why it needs TLS, for a module without the protocol http. */
  readonly tlsReason?: string;
  /** In the order of help and messages. */
  readonly fields: readonly AgentField[];
  /** The flag of a switch. */
  readonly flag?: AgentFlag;
  /** Requests a map without any of its fields, by a flag or a key whose value is `true`. `accept` completes it. */
  readonly bare?: { readonly key: string; readonly flag: AgentFlag; readonly summary: string };
  /** Message for a map whose fields are all empty; absent: it may be. */
  readonly whenEmpty?: string;
  /** Flags for an example in the help of `postern http`. */
  readonly helpExample?: string;
  /** For `postern config check`: shown where every field in braces has a value. */
  readonly summary: readonly string[];
}

export interface AgentField {
  /** Name in the schema and the bind message. */
  readonly name: string;
  /** Key in the agent's file, where it differs from the name. */
  readonly key?: string;
  /** A value for messages that show what to write. */
  readonly example: string;
  /** For a duration: the unit of its number in the schema. In the agent's file it may have another one, such as 90s. */
  readonly unit?: BareUnit;
  /** The field must have a value; its flag represents the module. */
  readonly isNeeded?: true;
  /** Name of a rule in src/kit/net/field-rules.ts, for a text or each item of a list. */
  readonly rule?: 'cidr' | 'credentials';
  /** A list whose items may contain commas: its flag is repeated. */
  readonly isRepeated?: true;
  /** The agent's user names PEM files; their certificates are sent. */
  readonly isCertificateFile?: true;
  readonly flag?: AgentFlag;
}

export interface AgentFlag {
  /** Without dashes. */
  readonly name: string;
  readonly hint: string;
  readonly description: string;
}
