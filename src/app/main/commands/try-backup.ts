import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Compile } from 'typebox/compile';
import { resources } from '../../../control/resources/registry.ts';
import { systemClock } from '../../../kit/clock.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { secretVisibility } from '../../../kit/schema/schema-facts.ts';
import { isShownOnlyIfSet } from '../../../kit/schema/wire-forms.ts';
import { invalidBackup } from '../../../store/backup/backup-format.ts';
import { restoreStore } from '../../../store/backup/restore-store.ts';
import { makeDataDirectory } from '../../../store/data-directory.ts';
import { readKeys, writeKeyFile } from '../../../store/keyring.ts';
import { Replica } from '../../../store/replica/replica.ts';
import { loadConfig } from '../../settings/load.ts';
import type { Config } from '../../settings/schema.ts';
import { openStore } from '../open-store.ts';

const PREFIX = '.restore-trial-';
/** A trial listens where nobody knows, orders no certificates, delivers nothing and runs no other parts. */
const TRIAL: Readonly<Record<string, string>> = {
  POSTERN_ROLES: 'api,edge',
  POSTERN_API_LISTEN: '127.0.0.1:0',
  POSTERN_EDGE_LISTEN: '127.0.0.1:0',
  POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
  POSTERN_WORKERS: '1',
  POSTERN_LOG_LEVEL: 'fatal',
};

/**
 * Starts a server on a copy of the backup, beside the target: a backup that is whole, and sealed, may still have a
 * record with which no server starts. Rejects with the name of that record if it is known. Nothing of the target
 * changes.
 */
export async function tryBackup(config: Config, file: string, passphrase: () => Promise<string>): Promise<void> {
  makeDataDirectory(config.data_dir);
  const dataDir = await mkdtemp(join(config.data_dir, PREFIX));
  try {
    const keys = readKeys({ dataDir: config.data_dir, configured: config.secret_key });
    if (keys !== null) writeKeyFile(dataDir, [...keys]);
    const target = { engine: 'sqlite', dataDir, secretKey: null } as const;
    const { missingKeyIds } = await restoreStore({ target, file, passphrase, replace: false });
    // Without its key no server reads it, and the caller says so.
    if (missingKeyIds.length > 0) return;
    const env = {
      ...TRIAL,
      POSTERN_DATA_DIR: dataDir,
      POSTERN_DOMAIN: config.domain,
      ...(config.identity_host !== null && { POSTERN_IDENTITY_HOST: config.identity_host }),
    };
    const { config: trial } = loadConfig({ flags: new Map(), env });
    await start(trial).catch(async (error: unknown) => {
      const suspect = await brokenRecord(trial);
      const about = suspect === null ? '' : `the record ${suspect} of the backup is broken: `;
      throw invalidBackup(`${about}no server starts with it: ${messageOf(error)}`, error);
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function start(config: Config): Promise<void> {
  const { startServer } = await import('../server.ts');
  const logDestination = new Writable({ write: (_chunk, _encoding, done) => done() });
  const server = await startServer(config, { logDestination });
  await server.close();
}

/** The first record without the fields of its kind; null: none is known, or the store itself names it. */
async function brokenRecord(config: Config): Promise<string | null> {
  const store = await openStore(config, systemClock);
  try {
    const replica = await Replica.open(store).catch(() => null);
    if (replica === null) return null;
    try {
      for (const resource of resources) {
        if (resource.type !== 'configuration') continue;
        const fields = Object.entries(resource.config.properties)
          .filter(([, schema]) => secretVisibility(schema) === undefined && !isShownOnlyIfSet(schema))
          .map(([name, schema]) => [name, Compile(schema)] as const);
        for (const { id, doc } of replica.all(resource.kind))
          if (!fields.every(([name, schema]) => schema.Check(doc[name]))) return `${resource.kind} ${id}`;
      }
      return null;
    } finally {
      replica.close();
    }
  } finally {
    await store.close();
  }
}
