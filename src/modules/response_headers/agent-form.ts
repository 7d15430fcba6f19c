import type { AgentForm } from '../contract/agent-form.ts';

export const responseHeadersAgentForm: AgentForm = {
  order: 7,
  key: 'response_header',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'add',
      example: '["x-name: value"]',
      isRepeated: true,
      flag: { name: 'response-header-add', hint: 'NAME: VALUE', description: 'Add this header to responses.' },
    },
    {
      name: 'remove',
      example: '["x-name"]',
      flag: { name: 'response-header-remove', hint: 'NAME', description: 'Remove this header from responses.' },
    },
  ],
  whenEmpty: 'response_header has no headers: write add or remove, or remove it',
  summary: ['add {add}', 'remove {remove}'],
};
