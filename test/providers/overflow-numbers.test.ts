/** What vendors say about a request that is too long, and the numbers in it. */
import { overflowNumbers } from '../../activities/providers/failure/overflow-numbers';

test.each([
  [
    'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
    { inputTokens: 178_959, outputTokens: 64_000, windowTokens: 200_000 },
  ],
  [
    'prompt is too long: 210000 tokens > 200000 maximum',
    { inputTokens: 210_000, windowTokens: 200_000 },
  ],
  [
    "This model's maximum context length is 128000 tokens. However, you requested 130500 tokens (126404 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
    { inputTokens: 126_404, outputTokens: 4_096, totalTokens: 130_500, windowTokens: 128_000 },
  ],
  [
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 5,012 tokens. Please reduce the length of the messages.",
    { inputTokens: 5_012, windowTokens: 4_096 },
  ],
  [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    { totalTokens: 5_000, windowTokens: 4_096 },
  ],
  [
    "'max_tokens' is too large: 3000. This model's maximum context length is 4096 tokens and your request has 2000 input tokens (3000 > 4096 - 2000).",
    { inputTokens: 2_000, outputTokens: 3_000, windowTokens: 4_096 },
  ],
  [
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    { inputTokens: 1_200_000, windowTokens: 1_048_576 },
  ],
  [
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    { inputTokens: 140_000, windowTokens: 131_072 },
  ],
  [
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    { inputTokens: 40_000, windowTokens: 32_768 },
  ],
  [
    'the request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
    { inputTokens: 5_000, windowTokens: 4_096 },
  ],
  ['Range of input length should be [1, 129024]', { windowTokens: 129_024 }],
  [
    'Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 41000.',
    { windowTokens: 30_000 },
  ],
  ['Your input exceeds the context window of this model.', undefined],
  ['prompt is too long: 1000 tokens > 200000 maximum', undefined],
])('%s', (message, numbers) => {
  expect(overflowNumbers([message])).toEqual(numbers);
});
