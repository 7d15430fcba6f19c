import { writeFileSync } from 'node:fs';
import { namesOfThisVersion } from '../test/architecture/frozen-names.ts';
import { FROZEN_NAMES_FILE, readFrozenNames } from '../test/architecture/frozen-names-file.ts';

/** Adds new names to the list of frozen names. It removes none: a published name stays. */
const frozen = new Set(readFrozenNames());
const names = await namesOfThisVersion();
const added = [...names].filter((name) => !frozen.has(name)).sort();
writeFileSync(FROZEN_NAMES_FILE, `${[...frozen, ...added].sort().join('\n')}\n`);
for (const name of added) console.log(`frozen: ${name}`);
for (const name of frozen) if (!names.has(name)) console.error(`frozen, but no longer in the code: ${name}`);
