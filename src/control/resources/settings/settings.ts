import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import type { SharedPorts } from '../ports.ts';
import type { LiveResource } from '../resource.ts';

export interface SettingPorts extends Pick<SharedPorts, 'uri'> {
  /** Settings in effect in this process, with secrets masked. */
  readonly settings: () => readonly JsonObject[];
  /** Absolute path of the configuration file that this process read; null: none. */
  readonly configFile: () => string | null;
}

const PATH = '/settings';

/** Settings in effect in the process that answers. */
export const settings: LiveResource<SettingPorts> = {
  type: 'live',
  name: 'settings',
  kind: 'setting',
  idPrefix: '',
  path: PATH,
  listKey: 'settings',
  title: 'a setting',
  description: 'A setting of the server, as in its configuration file.',
  operations: [
    {
      resource: 'settings',
      verb: 'list',
      method: 'GET',
      path: PATH,
      summary: 'List settings in effect',
      description: 'The settings of the node that answers. Nodes may have different ones. Secrets are masked.',
      success: {
        status: 200,
        schema: Type.Object({
          settings: Type.Array(
            Type.Object({
              name: Type.String({ description: 'Name in the configuration file.' }),
              value: Type.Union(
                [
                  Type.String(),
                  Type.Number(),
                  Type.Boolean(),
                  Type.Array(Type.String()),
                  Type.Record(Type.String(), Type.Unknown()),
                  Type.Null(),
                ],
                { description: 'Value in effect; null if it is unset. A secret is "********".' },
              ),
              source: Type.String({
                description: 'Where the value comes from: a flag, a variable, a line of a file, or "default".',
              }),
              secret: Type.Boolean({ description: 'Whether the value, or a part of it, is secret.' }),
              description: Type.String({ description: 'What the setting does.' }),
            }),
            { description: 'All settings, in the order of the documentation.' },
          ),
          config_file: Type.Union([Type.String(), Type.Null()], {
            description: 'Path of the configuration file that the node read at its start; null if it read none.',
          }),
          uri: Type.String({ description: 'URI of the list.' }),
          next_page_uri: Type.Null({ description: 'Always null: the list has one page.' }),
        }),
        description: 'The settings.',
      },
      errors: [],
      run: (_request, { settings: inEffect, configFile, uri }) => ({
        body: {
          settings: inEffect().map((setting) => ({ ...setting })),
          config_file: configFile(),
          uri: uri(PATH),
          next_page_uri: null,
        },
      }),
    },
  ],
};
