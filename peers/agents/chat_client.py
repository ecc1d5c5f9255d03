"""The OpenAI SDK as a client of a chat endpoint.

    chat_client.py URL TEXT…

Prints the models as a JSON line, then a line for each text, all of one conversation: the content of the answer, and
the calls in it.
"""

import json
import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
models = [model.id for model in client.models.list()]
print(json.dumps({"models": models}))
messages = []
for text in sys.argv[2:]:
    messages.append({"role": "user", "content": text})
    message = client.chat.completions.create(model=models[0], messages=messages).choices[0].message
    messages.append({"role": "assistant", "content": message.content})
    calls = [
        {"name": call.function.name, "arguments": json.loads(call.function.arguments)} for call in message.tool_calls or []
    ]
    print(json.dumps({"content": message.content, "calls": calls}))
