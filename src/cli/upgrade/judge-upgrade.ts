import { type Finding, findingsOf } from '../../checks/check.ts';
import type { Config } from '../../config/schema.ts';
import type { ExaminedStore } from './upgrade-ports.ts';

/** What starting this program on the store means. A problem keeps it from starting. */
export function judgeUpgrade(store: ExaminedStore, config: Config): readonly Finding[] {
  const { schemaVersion: found, knownSchemaVersion: known } = store;
  if (found === 0) {
    const findings = findingsOf('store');
    const where = config.database_url === null ? config.data_dir : 'the database';
    findings.warning(
      `there is no store in ${where}: nothing was checked, and the first start would create an empty store there`,
      config.database_url === null
        ? 'if a server of yours has data, name its folder with --data-dir; in a container, mount the volume of the running one'
        : 'if a server of yours has data, give this program its database_url',
    );
    return findings.list;
  }
  if (found > known && !store.isCompatible) {
    const findings = findingsOf('store');
    findings.problem(
      `the store has schema version ${found}, and this program knows versions up to ${known}`,
      'start the version that wrote the store or a later one, or restore a backup from before its migration',
    );
    return findings.list;
  }
  return [...keyFindings(store), ...migrationFindings(store), ...serverFindings(store, config)];
}

function keyFindings({ keyProblem }: ExaminedStore) {
  const findings = findingsOf('secret key');
  if (keyProblem === null) findings.ok('the secret key fits the store');
  else findings.problem(keyProblem.message, 'give this program the same secret key as the one that runs now');
  return findings.list;
}

function migrationFindings({ schemaVersion: found, knownSchemaVersion: known, pending }: ExaminedStore) {
  const findings = findingsOf('migration');
  if (found > known) {
    findings.ok(`none: the store has schema version ${found}, which only adds to version ${known} of this program`);
    return findings.list;
  }
  if (pending.length === 0) {
    findings.ok(`none: the store has schema version ${found}, which this program uses`);
    findings.ok('a downgrade is possible: both versions use the same tables');
    return findings.list;
  }
  findings.hint(`the first start migrates the store from schema version ${found} to ${known}, in one transaction`);
  for (const { version, steps } of pending) findings.hint(`version ${version}: ${steps.join(', ')}`);
  findings.warning(
    'a downgrade is impossible after that: older versions refuse the migrated store',
    'make a backup first, with the program that runs now: postern store backup FILE',
  );
  return findings.list;
}

function serverFindings({ olderServers, holder, pending, isCompatible }: ExaminedStore, config: Config) {
  const findings = findingsOf('servers');
  const { count, addresses } = olderServers;
  if (holder !== null) {
    findings.hint(
      `${holder} runs on this store`,
      isCompatible
        ? '"postern restart" lets this program take over without downtime'
        : 'stop it before this program starts: it cannot run on beside the migration',
    );
  }
  if (count === 0 || pending.length === 0) {
    if (holder === null) findings.ok('no server of an older version is in the way');
  } else if (isCompatible) {
    findings.ok(`${count} connected server(s) of an older version (${addresses}) can run on beside the migration`);
  } else if (config.database_migrate_under_old_nodes) {
    findings.warning(
      `${count} connected server(s) of an older version (${addresses}) can write nothing after the migration`,
      'restart them with this version soon after',
    );
  } else {
    findings.problem(
      `${count} server(s) of an older version are connected (${addresses}), and the migration does not start under them`,
      'stop them first, or set database_migrate_under_old_nodes to true, which stops their writes instead',
    );
  }
  return findings.list;
}
