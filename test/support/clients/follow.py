"""Follows changes with the given library, requests or httpx, and prints the data of each event on a line.

The parameters are environment variables: URL, TOKEN, BODY. Both libraries have their default settings.
"""

import os
import sys
import time

url = os.environ["URL"] + "/topics/changes"
body = os.environ["BODY"].encode()
headers = {
    "authorization": "Apikey " + os.environ["TOKEN"],
    "content-type": "application/json",
    "accept": "text/event-stream",
}

if sys.argv[1] == "requests":
    import requests

    session = requests.Session()
    failures = requests.RequestException

    def lines():
        with session.post(url, data=body, headers=headers, stream=True) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                yield line.decode()

else:
    import httpx

    client = httpx.Client()
    failures = httpx.HTTPError

    def lines():
        with client.stream("POST", url, content=body, headers=headers) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                yield line.rstrip("\n")


while True:
    fields = {}
    try:
        for line in lines():
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
                continue
            if "data" in fields and "event" not in fields:
                print(fields["data"], flush=True)
                headers["last-event-id"] = fields["id"]
            fields = {}
    except failures as error:
        print(repr(error), file=sys.stderr, flush=True)
    time.sleep(0.2)
