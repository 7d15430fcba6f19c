import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { PosternError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { writeDurably } from '../kit/process/durable-file.ts';
import { variableOf } from '../kit/settings/setting.ts';
import { hashToken } from '../kit/text/secrets.ts';
import type { Replica } from '../store/replica/replica.ts';
import type { CompiledResource } from './documents/catalog.ts';
import { Documents } from './documents/documents.ts';
import type { DocumentsContext } from './documents/documents-context.ts';
import type { OperationRequest } from './resources/operation.ts';

/** Created once per store so that somebody can start: the first API key, the first agent credential. */
export type BootstrapKind = 'api_key' | 'credential';

/** The parts of keys and credentials that bootstrapping needs. */
export interface BootstrapPort {
  count(kind: BootstrapKind | 'user_account'): Promise<number>;
  /** Whether the store has a key or credential with this token. */
  has(kind: BootstrapKind, token: string): Promise<boolean>;
  /** Null: there is an administrator, or none can be made. */
  administratorLink(): Promise<string | null>;
  create(record: {
    readonly kind: BootstrapKind;
    readonly token: string;
    readonly description: string;
    readonly scopes?: readonly string[];
  }): Promise<void>;
}

interface BootstrapRow {
  readonly kind: BootstrapKind;
  readonly setting: 'api_key' | 'authtoken';
  readonly label: string;
  /** Identifies the token's purpose wherever it appears, and lets scanners for leaked secrets find it. */
  readonly prefix: string;
  readonly description: string;
  /** In the data directory. */
  readonly fileName: string;
  /** Who else may have been meant by the variable of the setting, and what to do. */
  readonly user: string;
}

const ROWS: readonly BootstrapRow[] = [
  {
    kind: 'api_key',
    setting: 'api_key',
    label: 'API key',
    prefix: 'postern_ak_',
    description: 'First API key',
    fileName: 'first-api-key',
    user: 'commands, unset it, and set POSTERN_CLI_API_KEY',
  },
  {
    kind: 'credential',
    setting: 'authtoken',
    label: 'agent token',
    prefix: 'postern_cr_',
    description: 'First agent credential',
    fileName: 'first-authtoken',
    user: 'an agent, set it only where the agent starts',
  },
];

interface BootstrapSettings {
  readonly data_dir: string;
  readonly identity_host: string | null;
  readonly api_key: string | null;
  readonly authtoken: string | null;
}

interface BootstrapOptions {
  readonly config: BootstrapSettings;
  readonly port: BootstrapPort;
  readonly logger: Logger;
  /** Whether a person reads the output. */
  readonly isTerminal: boolean;
}

/** What the person at the terminal gets; null where nothing was generated. Keys are in files of the data directory. */
export interface Bootstrapped {
  readonly apiKey: string | null;
  readonly authtoken: string | null;
  /** Makes somebody the first administrator. */
  readonly administratorLink: string | null;
}

export async function bootstrap(options: BootstrapOptions): Promise<Bootstrapped> {
  const shown: { -readonly [Name in keyof Bootstrapped]: string | null } = {
    ...{ apiKey: null, authtoken: null, administratorLink: null },
  };
  for (const row of ROWS) {
    const generated = await bootstrapOne(row, options);
    if (generated === null || !options.isTerminal) continue;
    if (row.kind === 'api_key') shown.apiKey = generated;
    else shown.authtoken = generated;
  }
  shown.administratorLink = await firstAdministrator(options);
  return shown;
}

const LINK_FILE = 'first-administrator';

/** Returns the link if somebody reads it at the terminal. */
async function firstAdministrator({ config, port, logger, isTerminal }: BootstrapOptions): Promise<string | null> {
  if (config.identity_host === null || (await port.count('user_account')) > 0) return null;
  const link = await port.administratorLink();
  if (link === null || isTerminal) return link;
  const file = join(config.data_dir, LINK_FILE);
  await writeDurably(file, `${link}\n`, 0o600);
  logger.info({ file }, 'a link for the first administrator was written to a file: it works once, for 24 hours');
  return null;
}

/** Returns the token if it was generated. */
async function bootstrapOne(row: BootstrapRow, options: BootstrapOptions): Promise<string | null> {
  const { config, port, logger } = options;
  const preset = config[row.setting];
  if ((await port.count(row.kind)) > 0) {
    if (preset !== null) await sayUnused(row, preset, options);
    return null;
  }
  const token = preset ?? `${row.prefix}${randomBytes(32).toString('base64url')}`;
  if (preset === null) {
    // Before the record: a crash in between creates another one at the next start; the other order would lock everyone
    // out.
    const file = join(config.data_dir, row.fileName);
    await writeDurably(file, `${token}\n`, 0o600);
    logger.info({ file }, `the first ${row.label} was written to a file: move it to a safe place and delete the file`);
  }
  await port.create({ kind: row.kind, token, description: row.description });
  if (preset !== null) logger.info(`the first ${row.label} is that of the setting ${row.setting}`);
  return preset === null ? token : null;
}

/**
 * The same settings stay in a container for its life. Another token may come from a shell in which commands for another
 * server work.
 */
async function sayUnused(row: BootstrapRow, preset: string, { port, logger }: BootstrapOptions): Promise<void> {
  if (await port.has(row.kind, preset)) {
    logger.info(`the setting ${row.setting} is no longer needed: the store has this ${row.label}`);
    return;
  }
  const variable = variableOf(row.setting);
  logger.warn(
    `the setting ${row.setting} is ignored: the store has another ${row.label} already, and does not accept this one. Manage them with the API. If ${variable} is meant for ${row.user}`,
  );
}

/** Creates the first keys through the same code as every other, with a given token instead of a generated one. */
export function bootstrapPort(
  context: DocumentsContext,
  replica: Replica,
  administratorLink: BootstrapPort['administratorLink'],
): BootstrapPort {
  return {
    count: (kind) => Promise.resolve(replica.count(kind)),
    has: (kind, token) => {
      const hash = hashToken(token);
      return Promise.resolve(
        [...replica.all(kind)].some(({ doc }) => (doc['internal'] as JsonObject | undefined)?.['token_hash'] === hash),
      );
    },
    administratorLink,
    create: async ({ kind, token, description, scopes }) => {
      const documents = new Documents({ ...context, newToken: () => token });
      const compiled = context.catalog.compiled.get(kind) as CompiledResource;
      const body = { description, ...(scopes !== undefined && { scopes: [...scopes] }) };
      try {
        await documents.create(compiled, { ...OPERATOR_REQUEST, body }, null);
      } catch (error) {
        // Another process started at the same moment with the same preset: the key already exists.
        if (!(error instanceof PosternError && error.code === 'ERR_POSTERN_ALREADY_EXISTS')) throw error;
      }
    },
  };
}

/** A local operator may do anything; there is no API key. */
export const OPERATOR_REQUEST: Omit<OperationRequest, 'body'> = {
  operationId: '',
  principal: { apiKeyId: '', scopes: ['*'] },
  params: {},
  query: {},
  ifMatch: null,
  ifNoneMatch: null,
  idempotency: null,
  version: 2,
  isLegacyClient: false,
};
