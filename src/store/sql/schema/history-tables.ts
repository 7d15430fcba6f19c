import { bigintColumn, counter, index, type Migration, nullableText, table, textColumn } from './schema.ts';

/** Migration 9. */
export const historyTables: Migration['steps'] = [
  table(
    'history',
    [
      bigintColumn('revision'),
      bigintColumn('at_ms'),
      textColumn('author'),
      textColumn('author_id'),
      textColumn('message'),
      nullableText('chain'),
      bigintColumn('items'),
    ],
    ['revision'],
  ),
  index('history', ['at_ms']),
  index('history', ['author_id', 'revision']),
  table(
    'history_items',
    [
      bigintColumn('revision'),
      bigintColumn('position'),
      textColumn('kind'),
      textColumn('id'),
      // The edge or route of a module.
      textColumn('object_id'),
      nullableText('before_parent'),
      nullableText('before_doc'),
      nullableText('before_secrets'),
      nullableText('after_parent'),
      nullableText('after_doc'),
      nullableText('after_secrets'),
    ],
    ['revision', 'position'],
  ),
  index('history_items', ['object_id', 'revision']),
  // What was pruned last.
  table('history_anchor', [bigintColumn('revision'), textColumn('chain')], ['revision']),
  // The newest entry that is linked to the one before it.
  counter('history_linked'),
];
