import type { AgentForm } from '../contract/agent-form.ts';

export const userAgentFilterAgentForm: AgentForm = {
  order: 8,
  key: 'user_agent_filter',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'allow',
      example: '["(?i)firefox"]',
      isRepeated: true,
      flag: {
        name: 'ua-filter-allow',
        hint: 'PATTERN',
        description: 'Allow user agents that match, whatever is denied.',
      },
    },
    {
      name: 'deny',
      example: '["(?i)bot"]',
      isRepeated: true,
      flag: { name: 'ua-filter-deny', hint: 'PATTERN', description: 'Refuse user agents that match.' },
    },
  ],
  // It would look like a protection and be hardly one.
  whenEmpty: 'user_agent_filter has no patterns: write allow or deny, or remove it',
  summary: ['user agents allow {allow}', 'user agents deny {deny}'],
};
